"""How a command line of AgentV is asked. Pure.

The line has placeholders: `{PROMPT}`, `{PROMPT_FILE}`, `{FILES}`, `{OUTPUT_FILE}`, `{EVAL_ID}`,
`{ATTEMPT}`; what is put in is quoted for the shell.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from gateval.candidates.contract.question import question
from gateval.domain.base import digest
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.manifests.fixtures.attached import FilePart, TextPart
from gateval.domain.manifests.fixtures.messages import InputMessage, Part, Role, parts_of
from gateval.formats.templates.parts import TemplateError

_HOLE = re.compile(r"\{([A-Z_]+)\}")
_VARIABLE = re.compile(r"\$\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


class LackingVariable(TemplateError):
    """A line names a variable that candidates do not get. The text is a clause."""


class AskedFile(NamedTuple):
    """A file of a case: where it lies below the folder of files, and what is in it."""

    name: str
    data: bytes


def filled_line(line: str, values: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """Return the line for a shell. `values` are what placeholders stand for, quoted already;
    `environ` what variables (`${{ NAME }}`) do. Raises `LackingVariable`.
    """
    for name in _VARIABLE.findall(line):
        if name not in environ:
            raise LackingVariable(
                f"the variable {name} is not passed on; name it in policy.candidateEnv of "
                ".github/gateval.yml, and set it in the environment of the gate"
            )
    whole = re.compile(f"{_VARIABLE.pattern}|{_HOLE.pattern}")
    return whole.sub(
        lambda found: environ[found[1]] if found[1] else values.get(found[2], found[0]), line
    )


def listed_files(names: list[str], written: str | None) -> str:
    """Return what `{FILES}` stands for: each path as `files_format` has it, with blanks between."""
    return " ".join(
        (written or "{path}")
        .replace("{path}", shlex.quote(name))
        .replace("{basename}", shlex.quote(PurePosixPath(name).name))
        for name in names
    )


def case_id(asked: FixtureInput) -> str:
    """Return what `{EVAL_ID}` stands for: the same for equal questions, and no case's name."""
    return f"case-{digest(question(asked))[:12]}"


def prompt_of(asked: FixtureInput) -> str:
    """Return what `{PROMPT}` stands for. Several messages are told with `@[User]:` before each;
    files are named, and given by `{FILES}`.
    """
    if not asked.messages:
        return asked.prompt
    told = [(one, [*_segments(one)]) for one in asked.messages]
    visible = [(one, parts) for one, parts in told if parts]
    exchanged = any(one.role in {Role.ASSISTANT, Role.TOOL} for one in asked.messages)
    if exchanged or len(visible) > 1:
        texts = (f"@[{one.role.value.capitalize()}]:\n" + "\n".join(p) for one, p in visible)
        return "\n\n".join(texts)
    return "\n\n".join(part.strip() for _, parts in visible for part in parts)


def files_of(asked: FixtureInput) -> list[AskedFile]:
    """Return the files of a case, each once, at paths that differ, and of which none is a folder of
    another.
    """
    found: dict[str, AskedFile] = {}
    for message in asked.messages:
        for part in parts_of(message.content):
            data, written = _data(part), _name(part)
            if data is not None and written not in found:
                name, taken = _safe(written), [one.name for one in found.values()]
                clash = any(_meet(name, other) for other in taken)
                found[written] = AskedFile(f"_{len(found)}/{name}" if clash else name, data)
    return list(found.values())


def _meet(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def _segments(message: InputMessage) -> Iterator[str]:
    for part in parts_of(message.content):
        if isinstance(part, TextPart) and part.file is None:
            if part.text.strip():
                yield part.text
        else:
            yield f'<file: path="{_name(part)}">'


def _name(part: Part) -> str:
    if isinstance(part, FilePart):
        return part.path.lstrip("/")
    return part.file or ""


def _data(part: Part) -> bytes | None:
    if isinstance(part, FilePart):
        return base64.b64decode(part.content.data) if part.content else None
    if part.file is None:
        return None
    inner = part.text.partition("\n")[2].rpartition("\n</file>")[0]
    return f"{inner}\n".encode()


def _safe(name: str) -> str:
    """Return a file's name as a path below a folder."""
    steps = [step for step in PurePosixPath(name).parts if step not in {"/", "..", "."}]
    return "/".join(steps) or "file"
