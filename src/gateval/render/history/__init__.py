"""The views of what was measured before: tables, JSON, plots."""
