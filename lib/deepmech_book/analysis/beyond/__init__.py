"""What the pages on the limits of the papers measure, one module a page."""
