"""The server that a clone came from: how git gets there, and what is fetched."""
