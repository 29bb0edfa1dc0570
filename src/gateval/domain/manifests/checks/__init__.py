"""What can be wrong with manifests beyond their shape, each and together."""
