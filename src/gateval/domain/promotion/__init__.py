"""From what an agent once did to a fixture that asks it to do so again. Pure."""
