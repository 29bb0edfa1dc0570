"""How a candidate comes to models, and to the tools that the gate answers for."""
