"""From trials to scores and to the comparison of head with base."""
