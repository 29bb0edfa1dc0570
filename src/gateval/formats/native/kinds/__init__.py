"""The kinds of native manifests, one file each; `registry.py` lists them."""
