"""What makes a book of results: chapters, the result store, the ledger, pages, the command."""
