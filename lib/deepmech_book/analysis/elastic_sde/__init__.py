"""What the pages on paper B (Zhang, Wang, Su 2021) measure, one module a page."""
