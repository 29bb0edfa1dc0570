"""What people write in git, read into domain values: manifests, gate config, scripted models.

The one YAML reader lives here (`yaml_reader.py`), and nothing above this room reads YAML itself.
Every reader takes a path and bytes, and gives values and all the problems it found; it opens no
file and raises for no content, however broken.
"""
