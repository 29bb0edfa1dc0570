"""Commands that help to write manifests and to set the gate up."""
