"""Takes the schema of SARIF 2.1.0 as Microsoft publishes it: `tests/data/sarif/schema.json`.

    python -m tools.sarif_schema

It is the schema of OASIS (https://docs.oasis-open.org/sarif/sarif/v2.1.0/), which no package holds
on its own. To use another version, change version and integrity here.
"""

from __future__ import annotations

import json
from pathlib import Path

from tools.github_data import fetch, in_lines, without_prose

TARGET = Path(__file__).parents[1] / "tests" / "data" / "sarif" / "schema.json"
PACKAGE = (
    "@microsoft/jest-sarif",
    "1.0.0-beta.0",
    "sha512-A1fOhPd6Ic5iDk4F9YPw1qNB4XF+7+IviR7xl8r2F6QzQkx5cpY9LsGk2rExiFIEcBbjpVnSmwWGBukASkiQ9A==",
)
MENDED = {r"^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$": r"^[a-zA-Z]{2}(-[a-zA-Z]{2})?$"}
"""Patterns that are no regular expressions, and what OASIS writes since."""


def main() -> None:
    """Write the file."""
    text = fetch(PACKAGE, "package/lib/schemas/sarif-2.1.0-rtm.5.json").decode()
    for wrong, right in MENDED.items():
        text = text.replace(json.dumps(wrong), json.dumps(right))
    schema = json.loads(text)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    whole = {"source": " ".join(PACKAGE), **without_prose(schema)}
    TARGET.write_text(in_lines(whole), encoding="utf-8")


if __name__ == "__main__":
    main()
