"""The files of an Agent: which belong and why, what is wrong with them, and which it left."""
