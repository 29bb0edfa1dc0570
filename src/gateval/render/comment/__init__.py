"""The pull-request comment."""
