"""Commands that are about judges."""
