"""What follows from a comparison: the decision, its reasons, and who may stand for it."""
