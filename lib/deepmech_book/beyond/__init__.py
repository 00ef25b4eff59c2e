"""Chapter beyond the papers: its experiments, and of each page numbers and claims."""
