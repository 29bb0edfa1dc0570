"""Assertions that weigh others: by a mean or a share, by a program, by a judge."""
