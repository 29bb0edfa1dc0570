"""The bar: what the base tip asks of an Agent, which a change must meet even where it asks less."""
