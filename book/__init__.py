"""The book: its pages, and what makes a site of them (`book.site`)."""
