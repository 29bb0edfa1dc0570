"""Measured claims: each file measures one promise of the product against its bar."""
