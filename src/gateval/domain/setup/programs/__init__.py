"""Finds the agent that a repository has as a program: pure, from paths and texts; a guess."""
