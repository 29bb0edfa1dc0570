"""Assertions on what a trial leaves behind: its playground's end state, and what was seen."""
