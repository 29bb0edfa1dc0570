"""Reading the manifests of a revision, and the files that they name."""
