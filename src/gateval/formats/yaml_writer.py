"""Writes plain values as YAML, for people to read; what people wrote is not touched by it."""

from __future__ import annotations

import yaml
from pydantic import JsonValue


def write_yaml(value: JsonValue) -> str:
    """Return a JSON value as a YAML document in block style, keys in their order."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=False, default_flow_style=False
    )
    return text


class _Dumper(yaml.CSafeDumper):
    """Writes no anchors: equal values are written out each time."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - as PyYAML calls it
        """Never name a value to point back to it."""
        return True
