"""How a command line of AgentV is asked, and how its answer is read. Pure.

The line has placeholders: `{PROMPT}`, `{PROMPT_FILE}`, `{FILES}`, `{OUTPUT_FILE}`, `{EVAL_ID}`,
`{ATTEMPT}`; what is put in is quoted for the shell. The answer is JSON with `output_messages` (or
`output`) or `text`, and `token_usage`; anything else is plain text.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import NamedTuple

from pydantic import JsonValue

from gateval.candidates.contract.claims import ClaimError, read_steps, read_usage
from gateval.candidates.contract.question import Said, question, said_output
from gateval.domain.base import JsonObject, digest
from gateval.domain.manifests.attached import FilePart, TextPart
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.manifests.messages import InputMessage, Part, Role, parts_of
from gateval.domain.text.strict_json import NotStrictJson, read_json
from gateval.domain.trials.trace import Trace
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
    """Return the files of a case, each name once."""
    found: dict[str, AskedFile] = {}
    for message in asked.messages:
        for part in parts_of(message.content):
            data = _data(part)
            if data is not None:
                name = _safe(_name(part))
                found.setdefault(name, AskedFile(name, data))
    return list(found.values())


def read_output(written: bytes) -> Said:
    """Read the answer of a command line. Raises `ClaimError` for one that is empty or ambiguous."""
    text = written.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    if not text:
        raise ClaimError("it is empty")
    document = _object(text)
    if document is None:
        return Said(output=text)
    messages = document.get("output_messages") or document.get("output")
    usage = document.get("token_usage")
    tokens = usage if isinstance(usage, dict) else {}
    claimed = read_usage(
        {"input_tokens": tokens.get("input"), "output_tokens": tokens.get("output")}
    )
    if isinstance(messages, list) and messages:
        steps = read_steps([*_steps(messages)]).steps()
        trace = Trace(steps=steps, source="candidate", usage=claimed) if steps else None
        return Said(
            output=said_output(_final(messages), "its last message"), trace=trace, usage=claimed
        )
    if "text" in document:
        return Said(output=said_output(document["text"], "`text`"), usage=claimed)
    return Said(output=text)


def _object(text: str) -> JsonObject | None:
    """Return the JSON object that a text is, None for plain text."""
    if not text.startswith("{"):
        return None
    try:
        loose = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(loose, dict) or not loose.keys() & {"text", "output", "output_messages"}:
        return None
    try:
        strict = read_json(text)
    except NotStrictJson as error:
        raise ClaimError(f"it is ambiguous JSON: {error}")
    return strict if isinstance(strict, dict) else None


def _final(messages: list[JsonValue]) -> JsonValue:
    """Return the content of the last message of the assistant; of blocks, the texts."""
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role", "assistant") == "assistant":
            content = message.get("content")
            if isinstance(content, list) and content and all(isinstance(b, dict) for b in content):
                return "\n".join(_block_text(block) for block in content)
            return content
    return None


def _block_text(block: JsonValue) -> str:
    given = block if isinstance(block, dict) else {}
    return str(given.get("text", given.get("value", "")))


def _steps(messages: list[JsonValue]) -> Iterator[JsonObject]:
    """Yield the steps that messages tell of, in the words of a claimed trace."""
    for message in messages:
        if not isinstance(message, dict):
            raise ClaimError("an entry of its messages is no object")
        role, content = message.get("role", "assistant"), message.get("content")
        calls = message.get("tool_calls")
        if content is not None and content != "" and role in {"user", "assistant"}:
            yield {"type": str(role), "text": content}
        elif content is not None and role == "tool":
            yield {"type": "tool_result", "tool": message.get("name"), "text": content}
        for call in calls if isinstance(calls, list) else []:
            if not isinstance(call, dict):
                raise ClaimError("an entry of `tool_calls` is no object")
            common: JsonObject = {"tool": call.get("tool"), "call_id": call.get("id")}
            given = call.get("input", {})
            arguments: JsonObject = given if isinstance(given, dict) else {"input": given}
            yield {"type": "tool_call", **common, "arguments": arguments, "seconds": _took(call)}
            if call.get("output") is not None:
                yield {"type": "tool_result", **common, "text": call["output"]}


def _took(call: JsonObject) -> JsonValue:
    """Return the seconds that a call took, as far as it says: by itself, or by its two times."""
    milliseconds = call.get("duration_ms")
    if isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool):
        return milliseconds / 1000
    start, end = call.get("start_time", call.get("timestamp")), call.get("end_time")
    if not isinstance(start, str) or not isinstance(end, str):
        return None
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None


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
