"""Claims of the pages on springs, a module for each page."""
