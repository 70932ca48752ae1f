"""What the figures and tables of all chapters share."""
