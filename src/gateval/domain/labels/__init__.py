"""Labels that bend the gate: whose they are, for which revision, and whether they count. Pure."""
