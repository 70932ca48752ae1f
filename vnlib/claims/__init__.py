"""The rules of the claims of each chapter."""
