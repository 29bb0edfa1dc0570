"""Commands on what only holders of a key may read."""
