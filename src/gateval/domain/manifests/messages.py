"""What a user says in a fixture: messages, the files and images attached to them, and feedback.

A text file becomes text of the message; all else stays data, which is read again for each trial.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, JsonValue, model_validator
from pydantic.json_schema import SkipJsonSchema

from gateval.domain.base import Count, JsonObject, Name, Sha, Share, Spec, Value, Word
from gateval.domain.paths import show_path
from gateval.domain.text import ShortText
from gateval.domain.tree import is_lfs_pointer

TEXT_LIMIT = 256 * 1024
"""Bytes of a text file in a message."""

DATA_LIMIT = 10 * 1024 * 1024
"""Bytes of any other file in a message."""

FIXTURE_LIMIT = 14 * 1024 * 1024
"""Bytes of all data of one fixture: written as base64, they fit a request to a model."""

NOT_WRITTEN = "(content)"
"""The alias of what nobody writes, and stage files hold by its name."""

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
_TEXTS = ("text/", "application/json", "application/xml", "application/yaml")
"""Media types (or how they begin) whose content is told as text."""


class TextPart(Spec):
    """Text in a message. `file` is what a file is called whose content it is, between two tags."""

    type: Literal["text"]
    text: str
    """The text."""
    file: SkipJsonSchema[str | None] = Field(default=None, alias="(file)")

    @property
    def shown(self) -> str:
        """The part as text."""
        return self.text

    def as_json(self) -> JsonObject:
        """The part as programs are told it."""
        return {"type": "text", "text": self.text}


class Attached(Value):
    """A file at the revision of its fixture. `size` counts bytes, `digest` is their SHA-256.

    `oid` is the git object, `data` its content in base64: there during a trial, and never stored.
    """

    name: str
    media_type: str
    size: Count
    digest: str = Field(pattern=r"^[0-9a-f]{64}$")
    oid: Sha
    data: str = Field(default="", exclude=True)


class FilePart(Spec):
    """A file or an image in what the user says. `content` is known once the revision was read."""

    type: Literal["file", "image"]
    """An image is seen by the model; a file is read, one in UTF-8 as text."""
    path: str = Field(min_length=1, max_length=1000)
    """The path of the file, from the manifest's folder or, after a `/`, from the repository's
    root."""
    media_type: str | None = Field(
        default=None, pattern=r"^[a-z]+/[A-Za-z0-9.+-]+$", max_length=100
    )
    """What it is (`image/png`); told from its content where this is left out."""
    content: SkipJsonSchema[Attached | None] = Field(default=None, alias=NOT_WRITTEN)

    @property
    def shown(self) -> str:
        """The part where only text can stand: what it is, not what is in it."""
        found = self.content
        if found is None:
            return f"[{self.type} {_plain(self.path)}]"
        facts = f"{found.media_type}, {found.size:,} bytes, sha256 {found.digest[:12]}"
        return f"[{self.type} {_plain(found.name)} ({facts})]"

    def as_json(self) -> JsonObject:
        """The part as programs are told it; the content stands in `data`, if it is at hand."""
        told: JsonObject = {"type": self.type, "name": self.path}
        if (found := self.content) is not None:
            told |= {"name": found.name, "media_type": found.media_type, "size": found.size}
            told |= {"sha256": found.digest} | ({"data": found.data} if found.data else {})
        return told


def attach(part: FilePart, path: str, oid: str, data: bytes | None) -> TextPart | FilePart:
    """Return the part with what is known of the file at `path`, or its text as a text part.

    `data` is None if the file is larger than `DATA_LIMIT`. Raises `ValueError` with a sentence that
    says why it cannot be attached.
    """
    shown, name = show_path(path), show_path(path.rpartition("/")[2])
    if data is None or len(data) > DATA_LIMIT:
        raise ValueError(f"{shown} has more than {DATA_LIMIT:,} bytes. Attach a smaller file.")
    if is_lfs_pointer(data):
        raise ValueError(f"{shown} is a Git LFS pointer. Store the file itself in git.")
    if not data:
        raise ValueError(f"{shown} is empty. Fill it, or leave it out.")
    webp = "image/webp" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else None
    sniffed = next((media for magic, media in _MAGIC if data.startswith(magic)), webp)
    media = part.media_type or sniffed  # None for text and what nobody knows
    if part.type == "image" and not (media or "").startswith("image/"):
        raise ValueError(
            f"{shown} is no PNG, JPEG, GIF or WebP image. Attach it with `type: file`, or say in "
            "`mediaType` which image it is."
        )
    text = None
    if media is None or media.startswith(_TEXTS):
        with suppress(UnicodeDecodeError):
            text = data.decode("utf-8-sig")
    if text is None or "\0" in text:
        facts = Attached(
            name=name,
            media_type=media or "application/octet-stream",
            size=len(data),
            digest=hashlib.sha256(data).hexdigest(),
            oid=oid,
        )
        return part.replace(content=facts)
    if len(data) > TEXT_LIMIT:
        raise ValueError(f"{shown} has more than {TEXT_LIMIT:,} bytes of text. Attach less.")
    ended = "" if text.endswith("\n") else "\n"
    told = f'<file name="{_plain(name)}">\n{text}{ended}</file>'
    return TextPart(type="text", text=told, file=name)


def _plain(name: str) -> str:
    return name.translate({ord(char): "_" for char in '[]<>"'})


MESSAGES_LIMIT = 500
"""Messages before a fixture's first turn, and its turns."""


class Role(Word):
    """Who says a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


Part: TypeAlias = TextPart | FilePart
Content = (
    str | Annotated[tuple[Annotated[Part, Field(discriminator="type")], ...], Field(min_length=1)]
)


class InputToolCall(Spec):
    """A tool that the assistant called, as the conversation has it."""

    id: str = Field(min_length=1)
    """What its result refers to as `toolCallId`."""
    tool: str = Field(min_length=1)
    """The tool's name."""
    arguments: JsonObject = {}
    """What it was called with."""


class InputMessage(Spec):
    """One message of a conversation that has taken place."""

    role: Role
    """Who says it."""
    content: Content = ""
    """What is said: text, or a list of parts."""
    tool_calls: tuple[InputToolCall, ...] = ()
    """The tools that the assistant calls with it."""
    tool_call_id: str | None = None
    """The call whose result a `tool` message is."""

    @model_validator(mode="after")
    def _fits_its_role(self) -> Self:
        if self.tool_calls and self.role is not Role.ASSISTANT:
            raise ValueError("Only the assistant has `toolCalls`")
        if (self.tool_call_id is None) is (self.role is Role.TOOL):
            raise ValueError("A `tool` message, and no other, has `toolCallId`")
        if self.role is not Role.USER and any(files_in(self.content)):
            raise ValueError("Only the user sends files and images")
        if not text_of(self.content) and not self.tool_calls and self.role is not Role.TOOL:
            raise ValueError("It says nothing: give it `content`")
        return self

    def as_json(self) -> JsonObject:
        """The message as programs are told it, in the words of chat APIs.

        Its content is a text, or a list of parts where there are files or images.
        """
        content: JsonValue = text_of(self.content)
        if any(files_in(self.content)):
            content = [part.as_json() for part in parts_of(self.content)]
        told: JsonObject = {"role": self.role.value, "content": content}
        if self.tool_calls:
            calls: list[JsonValue] = [
                {"id": one.id, "name": one.tool, "arguments": one.arguments}
                for one in self.tool_calls
            ]
            told["tool_calls"] = calls
        if self.tool_call_id is not None:
            told["tool_call_id"] = self.tool_call_id
        return told


def parts_of(content: Content) -> tuple[Part, ...]:
    """The parts of a content; a text is one."""
    return (TextPart(type="text", text=content),) if isinstance(content, str) else content


def text_of(content: Content) -> str:
    """The text of a message's content, its parts one below the other; files are named."""
    return content if isinstance(content, str) else "\n".join(part.shown for part in content)


def files_in(content: Content) -> Iterator[tuple[int, FilePart]]:
    """Yield the files and images of a content, each with its position from 0."""
    if not isinstance(content, str):
        yield from ((n, part) for n, part in enumerate(content) if isinstance(part, FilePart))


def with_files(content: Content, give: Callable[[FilePart], Part]) -> Content:
    """The content with what `give` makes of each file and image."""
    if isinstance(content, str):
        return content
    return tuple(give(part) if isinstance(part, FilePart) else part for part in content)


PEOPLE = "people"
"""What the column is called that holds what people said."""


class Feedback(Value):
    """One person's word on the answer to a row: a score in [0, 1], by whom and when, as written.

    `answer` is the SHA-256 of the answer it is about, empty where that is not said.
    """

    fixture: Name
    score: Share
    answer: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    note: ShortText = ""
    who: ShortText = ""
    when: ShortText = ""

    def is_about(self, output: str) -> bool:
        """Whether it is about this answer, or says not about which."""
        return self.answer in {"", answer_digest(output)}


def answer_digest(output: str) -> str:
    """Return what an answer is known by; white space around it does not matter."""
    return hashlib.sha256(output.strip().encode("utf-8", "replace")).hexdigest()
