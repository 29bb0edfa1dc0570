"""The assertions: one file per family, one entry each in `registry`.

To add one: a file with a class that derives from `base.Assertion` (its fields are the YAML keys,
its docstring the reference text), an entry in `registry`, a table test in
`tests/unit/assertions/`, and a sample in `examples/assertions/TYPE.yaml`, which a test executes.
"""
