"""The report of `make bench`: results, claims about them, plots, tables, a page."""
