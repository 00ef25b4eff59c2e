"""Chapter on paper B (Zhang, Wang, Su 2021): its experiments, and of each page numbers and claims."""
