"""One file for each scoring model: what a trial's assessments make of it."""
