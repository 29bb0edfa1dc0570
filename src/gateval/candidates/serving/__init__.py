"""Candidates that are servers: started, asked one trial at a time, replaced when they die."""
