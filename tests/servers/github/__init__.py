"""GitHub on loopback, as far as a gate can see it. `README.md` says how a test uses it.

Kept free of imports, so that naming a fixture costs nothing until a test asks for it.
"""
