"""The pages of the assertions, made from their classes and samples: a list, and one page each."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path

from gateval.assertions.base import Assertion
from gateval.assertions.registry import ASSERTIONS
from gateval.formats.native.fixture import AssertionCommon
from tools.key_table import key_table

SAMPLES = Path(__file__).parent.parent / "examples" / "assertions"

_INTRODUCTION = """\
# Assertions

One check each on a trial, under `spec.assertions` of an EvalFixture. The fixture passes when all of
them pass. An assertion is *passed*, *failed*, or an *error*: it could not be evaluated, for example
because the candidate gave no trace. An error is neither a pass nor a fail, and it keeps the fixture
from passing.

Every assertion gives one sentence, what it expected and what it saw, and the numbers of the trace
steps it rests on. Steps count from 1. The final message is the last assistant step.

| assertion | what it checks |
|---|---|
"""


def pages() -> Iterator[tuple[str, str]]:
    """Yield `assertions.md`, which lists them, and the page of each, by their paths and texts."""
    rows = [
        f"| [{name}](assertions/{name}.md) | {_checks(kind)} |" for name, kind in ASSERTIONS.items()
    ]
    common = key_table(AssertionCommon.model_json_schema())
    listed = "\n".join(rows)
    yield "assertions.md", f"{_INTRODUCTION}{listed}\n\nThese keys all of them have:\n\n{common}"
    for name, kind in ASSERTIONS.items():
        yield f"assertions/{name}.md", _page(name, kind)


def _checks(kind: type[Assertion]) -> str:
    first = (inspect.getdoc(kind) or "").partition("\n\n")[0]
    return first.replace("\n", " ").replace("|", "\\|")


def _page(name: str, kind: type[Assertion]) -> str:
    note, manifest = (SAMPLES / f"{name}.yaml").read_text(encoding="utf-8").split("apiVersion:")
    assertions = manifest.partition("  assertions:\n")[2]
    return "\n".join(
        [
            f"# {name}\n",
            f"{inspect.getdoc(kind)}\n",
            f"```yaml\nassertions:\n{textwrap.dedent(assertions)}```\n",
            f"{_uses(note)}\n",
            f"A test gives both to [`{name}.yaml`](../../../examples/assertions/{name}.yaml).\n",
            key_table(kind.model_json_schema()),
            "Keys that [all assertions](../assertions.md) have stand there.\n",
        ]
    )


def _uses(note: str) -> str:
    """Return the comment of a sample, without its first line, as a list."""
    lines = [line.removeprefix("# ") for line in note.splitlines()[1:]]
    starts = ("Passes", "Fails")
    return "\n".join(("- " if line.startswith(starts) else "  ") + line for line in lines)
