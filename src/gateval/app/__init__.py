"""Builds the real world and hands it to the pipeline; turns errors into text and exit codes."""
