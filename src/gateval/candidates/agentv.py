"""The runtime `agentv`: one line for the shell per trial, how it is asked and how its answer is
read.

The line has placeholders: `{PROMPT}`, `{PROMPT_FILE}`, `{FILES}`, `{OUTPUT_FILE}`, `{EVAL_ID}`,
`{ATTEMPT}`; what is put in is quoted for the shell.

It is JSON with `output_messages` (or `output`) or `text`, and what it reports: `token_usage`,
`cost_usd`, `duration_ms`, `llm_call_count`; all else is text.
"""

from __future__ import annotations

import base64
import functools
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pydantic import JsonValue

from gateval.candidates.command import CommandRuntime, ProcessInvocation
from gateval.candidates.contract import (
    ClaimError,
    ProgramAnswer,
    object_in,
    question,
    read_reported,
    read_steps,
    read_usage,
    refuse_stream,
    said_output,
)
from gateval.candidates.options import AgentvOptions
from gateval.domain.base import JsonObject, digest
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.manifests.messages import FilePart, InputMessage, Part, Role, TextPart, parts_of
from gateval.domain.strict_json import list_of
from gateval.domain.text import is_blank
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Claimed
from gateval.formats.templates import TemplateError

if TYPE_CHECKING:
    from gateval.candidates.services import CommandContext


_HOLE = re.compile(r"\{([A-Z_]+)\}")
_VARIABLE = re.compile(r"\$\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


class LackingVariable(TemplateError):
    """A line names a variable that candidates do not get. The text is a clause."""


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


def files_of(asked: FixtureInput) -> list[tuple[str, bytes]]:
    """Return the files of a case, each once: where it lies below the folder of files, and what is
    in it. None lies at the path of another, or in it.
    """
    found: dict[str, tuple[str, bytes]] = {}
    for part in (part for message in asked.messages for part in parts_of(message.content)):
        data, written = _data(part), _name(part)
        if data is not None and written not in found:
            steps = [one for one in PurePosixPath(written).parts if one not in {"/", "..", "."}]
            name = "/".join(steps) or "file"
            clash = any(
                f"{name}/".startswith(f"{other}/") or f"{other}/".startswith(f"{name}/")
                for other, _ in found.values()
            )
            found[written] = (f"_{len(found)}/{name}" if clash else name, data)
    return list(found.values())


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


def read_output(written: bytes, prompt: str) -> ProgramAnswer:
    """Read the answer of a command line to `prompt`, with which its steps begin. Raises
    `ClaimError` for one that is empty or ambiguous.
    """
    text = written.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    if is_blank(text):
        raise ClaimError("it is empty")
    refuse_stream(written, "agentv")
    document = object_in(text, {"text", "output", "output_messages"})
    if document is None:
        return ProgramAnswer(output=text)
    messages = _messages(document)
    usage, claimed = _reported(document, messages)
    if messages:
        told = [*_steps(messages)]
        if not any(step["type"] == "user" for step in told):
            told.insert(0, {"type": "user", "text": prompt})
        steps = read_steps([*told]).steps()
        trace = Trace(steps=steps, source="candidate", usage=usage) if steps else None
        said = said_output(_final(messages), "its last message")
        return ProgramAnswer(said, trace, usage, claimed)
    for key in ("text", "output"):
        if document.get(key) is not None and document[key] != []:
            return ProgramAnswer(said_output(document[key], f"`{key}`"), None, usage, claimed)
    raise ClaimError("it has no message: neither `output_messages` nor `text` holds one")


def _messages(document: JsonObject) -> list[JsonValue]:
    """Return the messages that an answer tells; a text under `output` is none."""
    messages = document.get("output_messages")
    if messages is not None and not isinstance(messages, list):
        raise ClaimError("`output_messages` is no list of messages")
    return messages or list_of(document, "output")


def _reported(document: JsonObject, messages: list[JsonValue]) -> tuple[Usage, Claimed]:
    """Return what the answer reports of tokens and money, and of time and model calls: as many of
    these as the assistant has messages, where it does not say.
    """
    tokens = document.get("token_usage")
    if tokens is not None and not isinstance(tokens, dict):
        raise ClaimError("`token_usage` is no mapping")
    counted = tokens or {}
    usage = read_usage(
        {"input_tokens": counted.get("input"), "output_tokens": counted.get("output")}
    )
    usd, claimed = read_reported(document)
    if messages and claimed.model_calls is None:
        calls = sum(isinstance(one, dict) and one.get("role") == "assistant" for one in messages)
        claimed = claimed.model_copy(update={"model_calls": calls})
    return usage.model_copy(update={"usd": usd}), claimed


def _final(messages: list[JsonValue]) -> JsonValue:
    """Return the content of the last message of the assistant; of blocks, the texts."""
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role", "assistant") == "assistant":
            content = message.get("content")
            blocks = list_of(content)
            texts = [str(b.get("text", b.get("value", ""))) for b in blocks if isinstance(b, dict)]
            return "\n".join(texts) if texts and len(texts) == len(blocks) else content
    return None


def _steps(messages: list[JsonValue]) -> Iterator[JsonObject]:
    """Yield the steps that messages tell of, in the words of a claimed trace."""
    for message in messages:
        if not isinstance(message, dict):
            raise ClaimError("an entry of its messages is no object")
        role, content = message.get("role", "assistant"), message.get("content")
        if not isinstance(role, str):
            raise ClaimError("the `role` of a message is no text")
        calls = message.get("tool_calls")
        if content is not None and content != "" and role in {"user", "assistant"}:
            yield {"type": str(role), "text": content}
        elif content is not None and role == "tool":
            yield {"type": "tool_result", "tool": message.get("name"), "text": content}
        for call in list_of(calls):
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


_SHELL = "/bin/sh"
_ANSWER = "answer.json"


class AgentvRuntime(CommandRuntime):
    """Runs `runtime.line` in the export for each trial. Asks and reads as AgentV does."""

    @functools.cached_property
    def given(self) -> AgentvOptions:
        """The options as the manifest has them."""
        return AgentvOptions.model_validate(self.agent.runtime.options)

    @property
    def line(self) -> tuple[str, ...]:
        """See `CommandRuntime`."""
        return _SHELL, "-c", self.given.line

    def asking(
        self, asked: FixtureInput, commands: CommandContext, *, turns: bool = False
    ) -> ProcessInvocation:
        """Write prompt and files into a folder that no program has seen before: what an earlier
        turn left in HOME may lead anywhere.
        """
        del turns
        folder = Path(tempfile.mkdtemp(prefix="asked-", dir=commands.private.home.parent))
        prompt, listed = prompt_of(asked), []
        (folder / "prompt.txt").write_bytes(prompt.encode("utf-8", "replace"))
        for name, data in files_of(asked):
            place = folder / "files" / name
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.write_bytes(data)
            written = (self.given.files_format or "{path}").replace(
                "{path}", shlex.quote(str(place))
            )
            listed.append(written.replace("{basename}", shlex.quote(place.name)))
        values = {
            "PROMPT": shlex.quote(prompt),
            "PROMPT_FILE": shlex.quote(str(folder / "prompt.txt")),
            "FILES": " ".join(listed),
            "OUTPUT_FILE": shlex.quote(str(folder / _ANSWER)),
            # the same for equal questions, and no case's name
            "EVAL_ID": shlex.quote(f"case-{digest(question(asked))[:12]}"),
            "ATTEMPT": "0",
            "GUIDELINES": "''",
        }
        line = filled_line(self.given.line, values, self.context.environ)
        answer = (folder, _ANSWER) if "{OUTPUT_FILE}" in self.given.line else None
        return ProcessInvocation((_SHELL, "-c", line), writes=(folder,), answer=answer)

    def said(self, answered: bytes, asked: FixtureInput) -> ProgramAnswer:
        """See `CommandRuntime`."""
        return read_output(answered, asked.prompt)
