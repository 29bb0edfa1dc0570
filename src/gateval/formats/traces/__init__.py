"""Records of runs, read into `domain/promotion/recorded.py`: one file for each format."""
