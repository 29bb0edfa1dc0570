"""Cases: where they stand, what they ask, and the fixtures that they become."""
