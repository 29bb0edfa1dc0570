"""Programs for those who work on Gateval; nothing here ships."""
