"""Fixtures of which there are many: a file of cases, and the template that each fills in."""
