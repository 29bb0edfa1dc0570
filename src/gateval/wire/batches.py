"""Batches of requests, which providers answer within a day at half the price: bytes in and out.

OpenAI: https://platform.openai.com/docs/guides/batch (a JSONL file is uploaded, results are files).
Anthropic: https://docs.claude.com/en/docs/build-with-claude/batch-processing (one request, and a
results file whose lines come in any order). Both name each request by its `custom_id`.

Results are fetched from where the batch was made: an address in an answer is never followed.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.strict_json import object_of, objects_of, string_of, value_at
from gateval.domain.trials.model_call import ModelReply
from gateval.wire.base import WireError, as_count, read_object, write_json
from gateval.wire.registry import WIRE_FORMATS

TIER = "batch"
"""What the price of a reply goes by."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_BOUNDARY = "gateval-batch-of-questions"


class BatchLine(NamedTuple):
    """A request: its name, of at most 64 letters, digits, `-` and `_`, and what it asks."""

    custom_id: str
    body: JsonObject


class BatchState(NamedTuple):
    """How a batch stands: in the provider's word, `done` of `total` requests.

    It has `ended`, and then `results` are the paths to fetch what came of it. `why` says why it
    came to nothing as a whole.
    """

    id: str
    word: str
    done: int
    total: int
    ended: bool
    results: tuple[str, ...] = ()
    why: str = ""


class BatchAnswer(NamedTuple):
    """What came of one request: a reply, else HTTP's status if it has one, and what was said."""

    custom_id: str
    reply: ModelReply | None
    status: int | None = None
    error: str = ""


class BatchUpload(NamedTuple):
    """What is posted where; `content_type` is that of the body."""

    path: str
    body: bytes
    content_type: str = "application/json"


class BatchFormat(ABC):
    """How a provider takes batches of requests in the format `wire`. Paths are below its base."""

    wire: ClassVar[str]
    path: ClassVar[str]

    def file(self, lines: Sequence[BatchLine]) -> BatchUpload | None:
        """Return the file to upload before; None where the requests go in the batch itself."""
        del lines
        return None

    @abstractmethod
    def create(self, lines: Sequence[BatchLine], file: str) -> BatchUpload:
        """Return what makes the batch; `file` is the id of the uploaded file."""

    @abstractmethod
    def state(self, body: bytes) -> BatchState:
        """Read how a batch stands. Raises `WireError`."""

    def state_path(self, batch: str) -> str:
        """Return where that is asked."""
        return f"{self.path}/{batch}"

    def answers(self, results: bytes) -> Iterator[BatchAnswer]:
        """Yield what came of each request, in any order. Raises `WireError`."""
        for line in results.splitlines():
            if line.strip():
                yield self._answer(read_object(line))

    @abstractmethod
    def _answer(self, line: JsonObject) -> BatchAnswer: ...

    def _reply(self, custom_id: str, body: JsonObject) -> BatchAnswer:
        """Read the reply itself, as if it had come alone."""
        try:
            reply = WIRE_FORMATS[self.wire].decode_reply(write_json(body))
        except WireError as unread:
            return BatchAnswer(custom_id, None, error=f"it answered with {unread}")
        return BatchAnswer(custom_id, reply.replace(tier=TIER))


def batch_id(fields: JsonObject, key: str = "id") -> str:
    """Return an id that may stand in a path. Raises `WireError`."""
    found = string_of(fields, key)
    if not _ID.fullmatch(found):
        raise WireError(f"no usable `{key}`")
    return found


class _OpenAi(BatchFormat):
    wire = "openai-chat"
    path = "/batches"

    def file(self, lines: Sequence[BatchLine]) -> BatchUpload:
        """A part for the purpose and one for the file, as RFC 7578 has forms."""
        asked = [
            write_json(
                {
                    "custom_id": one.custom_id,
                    "method": "POST",
                    "url": "/v1/chat/completions",
                    "body": one.body,
                }
            )
            for one in lines
        ]
        edge = f"--{_BOUNDARY}\r\nContent-Disposition: form-data; name="
        head = f'{edge}"purpose"\r\n\r\nbatch\r\n{edge}"file"; filename="batch.jsonl"\r\n'
        body = f"{head}Content-Type: application/jsonl\r\n\r\n".encode() + b"\n".join(asked)
        body += f"\n\r\n--{_BOUNDARY}--\r\n".encode()
        return BatchUpload("/files", body, f"multipart/form-data; boundary={_BOUNDARY}")

    def create(self, lines: Sequence[BatchLine], file: str) -> BatchUpload:
        del lines
        asked: JsonObject = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
        }
        return BatchUpload(self.path, write_json(asked))

    def state(self, body: bytes) -> BatchState:
        fields = read_object(body)
        word, counts = string_of(fields, "status"), object_of(fields, "request_counts")
        done = sum(as_count(counts.get(name)) or 0 for name in ("completed", "failed"))
        files = [name for name in ("output_file_id", "error_file_id") if fields.get(name)]
        ended = word in {"completed", "failed", "expired", "cancelled"}
        said = [string_of(one, "message") for one in objects_of(fields, "errors", "data")]
        return BatchState(
            id=batch_id(fields),
            word=word,
            done=done,
            total=as_count(counts.get("total")) or 0,
            ended=ended,
            results=tuple(f"/files/{batch_id(fields, name)}/content" for name in files),
            why=" ".join(filter(None, said[:3])) or "it failed" if word == "failed" else "",
        )

    def _answer(self, line: JsonObject) -> BatchAnswer:
        custom_id = string_of(line, "custom_id")
        response, error = object_of(line, "response"), object_of(line, "error")
        status = as_count(response.get("status_code"))
        if status == 200 and not error:
            return self._reply(custom_id, object_of(response, "body"))
        said = string_of(error, "message") or string_of(response, "body", "error", "message")
        code = string_of(error, "code")
        if code == "batch_expired":
            said = EXPIRED
        return BatchAnswer(custom_id, None, status, said or code or "it failed")


EXPIRED = "the batch expired before it was answered"


class _Anthropic(BatchFormat):
    wire = "anthropic-messages"
    path = "/v1/messages/batches"

    def create(self, lines: Sequence[BatchLine], file: str) -> BatchUpload:
        del file
        asked: list[JsonValue] = [{"custom_id": one.custom_id, "params": one.body} for one in lines]
        return BatchUpload(self.path, write_json({"requests": asked}))

    def state(self, body: bytes) -> BatchState:
        fields = read_object(body)
        word, found = string_of(fields, "processing_status"), batch_id(fields)
        counts = object_of(fields, "request_counts")
        known = {name: as_count(value) or 0 for name, value in counts.items()}
        ended = word == "ended"
        return BatchState(
            id=found,
            word=word,
            done=sum(known.values()) - known.get("processing", 0),
            total=sum(known.values()),
            ended=ended,
            results=(f"{self.state_path(found)}/results",) if ended else (),
        )

    def _answer(self, line: JsonObject) -> BatchAnswer:
        custom_id, result = string_of(line, "custom_id"), object_of(line, "result")
        match string_of(result, "type"):
            case "succeeded":
                return self._reply(custom_id, object_of(result, "message"))
            case "expired":
                return BatchAnswer(custom_id, None, error=EXPIRED)
            case "canceled":
                return BatchAnswer(custom_id, None, error="it was canceled")
        kind = string_of(result, "error", "error", "type")
        said = value_at(result, "error", "error", "message")
        status = 400 if kind == "invalid_request_error" else None
        return BatchAnswer(custom_id, None, status, said if isinstance(said, str) else "it failed")


BATCH_FORMATS: Mapping[str, BatchFormat] = {"openai": _OpenAi(), "anthropic": _Anthropic()}
"""By provider."""
