"""Rubrics that come with the gate, one file each: what they measure, by whom, and examples."""
