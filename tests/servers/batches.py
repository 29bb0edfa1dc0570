"""OpenAI's Batch API and Anthropic's Message Batches for `ModelServer`, with faults to plant.

Written against the providers' documentation; `tests/integration/gateway/test_batches.py` has the official
clients speak to it. Each line is answered by `judge`, as the model server would answer it alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from email import message_from_bytes
from itertools import count
from typing import Any

from pydantic import TypeAdapter

from tests.servers.model_server import Answer, Call, Responder

WHEN = "2026-11-20T09:30:00Z"


class BatchServer:
    """Respond with it: `ModelServer(BatchServer(judge))`.

    A batch ends at the `polls`-th look. `fates` names by a word in a request what becomes of it:
    `expired`, `errored`, `gone` (no line at all). `deaf` answers the making of a batch with nothing, `results_at` is where results are said to be.
    `made` are the lines of all batches that were made.
    """

    def __init__(self, judge: Responder, *, polls: int = 2, fates: dict[str, str] | None = None):
        self.judge, self.polls, self.fates = judge, polls, fates or {}
        self.deaf = False
        self.results_at = "http://169.254.169.254/never-follow-this"
        self.made: list[list[dict[str, Any]]] = []
        self.alone = 0
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, list[dict[str, Any]]] = {}
        self._looks: dict[str, int] = {}
        self._numbers = count(1)

    def __call__(self, call: Call) -> Answer:
        parts = call.path.strip("/").split("/")[1:]
        key = call.headers.get("authorization") or call.headers.get("x-api-key")
        if not key:
            return Answer(status=401, body=b'{"error": {"message": "no key"}}')
        match parts:
            case ["files"]:
                return self._upload(call)
            case ["files", name, "content"]:
                return Answer(body=self._files[name])
            case ["batches"]:
                return self._create_openai(call)
            case ["batches", name]:
                return _json(self._openai(name))
            case ["messages", "batches"]:
                return self._create_anthropic(call)
            case ["messages", "batches", name]:
                return _json(self._anthropic(name))
            case ["messages", "batches", name, "results"]:
                return Answer(body=self._results(name, self._anthropic_line))
        self.alone += 1
        return self.judge(call)

    def _upload(self, call: Call) -> Answer:
        head = f"Content-Type: {call.headers['content-type']}\r\n\r\n".encode()
        form = {
            part.get_param("name", header="content-disposition"): part
            for part in message_from_bytes(head + call.raw).walk()
            if not part.is_multipart()
        }
        assert form["purpose"].get_payload() == "batch"
        content = form["file"].get_payload(decode=True)
        assert isinstance(content, bytes)
        assert form["file"].get_filename()
        name = f"file-{next(self._numbers)}"
        self._files[name] = content
        size = len(content)
        return _json(
            {"id": name, "object": "file", "bytes": size, "created_at": 1, "filename": "batch.jsonl",
             "purpose": "batch", "status": "processed"}
        )  # fmt: skip

    def _made(self, lines: list[dict[str, Any]], prefix: str) -> str:
        assert len({one["custom_id"] for one in lines}) == len(lines)
        self.made.append(lines)
        name = f"{prefix}_{next(self._numbers)}"
        self._batches[name], self._looks[name] = lines, 0
        return name

    def _create_openai(self, call: Call) -> Answer:
        from openai.types import BatchCreateParams

        TypeAdapter(BatchCreateParams).validate_python(call.body)
        lines = [json.loads(one) for one in self._files[call.body["input_file_id"]].splitlines()]
        for one in lines:
            assert (one["method"], one["url"]) == ("POST", call.body["endpoint"])
        name = self._made(lines, "batch")
        return Answer(drop=True) if self.deaf else _json(self._openai(name))

    def _openai(self, name: str) -> dict[str, Any]:
        from openai.types import Batch

        lines, looks = self._batches[name], self._looks[name]
        self._looks[name] += 1
        ended = looks >= self.polls
        expired = "expired" in self.fates.values()
        body: dict[str, Any] = {
            "id": name, "object": "batch", "endpoint": "/v1/chat/completions", "created_at": 1,
            "input_file_id": "file-1", "completion_window": "24h",
            "status": ("expired" if expired else "completed") if ended else "in_progress",
            "output_file_id": None, "error_file_id": None, "errors": None,
            "request_counts": {"total": len(lines), "completed": len(lines) * ended, "failed": 0},
        }  # fmt: skip
        if ended:
            answered = [self._openai_line(one) for one in reversed(lines)]
            for kind, key in ((False, "output_file_id"), (True, "error_file_id")):
                mine = [one for one in answered if one and (one["error"] is not None) is kind]
                if mine:
                    body[key] = f"file-of-{name}-{key[:5]}"
                    self._files[body[key]] = b"\n".join(json.dumps(one).encode() for one in mine)
        return Batch.model_validate(body, strict=True).model_dump(mode="json")

    def _openai_line(self, line: dict[str, Any]) -> dict[str, Any] | None:
        fate = self._fate(line)
        told = {
            "id": "batch_req_1",
            "custom_id": line["custom_id"],
            "response": None,
            "error": None,
        }
        if fate == "gone":
            return None
        if fate == "expired":
            said = "This request could not be executed before the completion window expired."
            return {**told, "error": {"code": "batch_expired", "message": said}}
        got = self._alone("/v1/chat/completions", line["body"])
        status = 400 if fate == "errored" else got.status
        body = (
            {"error": {"message": "no such parameter"}}
            if fate == "errored"
            else json.loads(got.body)
        )
        return {**told, "response": {"status_code": status, "request_id": "req_1", "body": body}}

    def _create_anthropic(self, call: Call) -> Answer:
        from anthropic.types.messages import BatchCreateParams

        TypeAdapter(BatchCreateParams).validate_python(call.body)
        assert call.headers["anthropic-version"]
        name = self._made(call.body["requests"], "msgbatch")
        return Answer(drop=True) if self.deaf else _json(self._anthropic(name))

    def _anthropic(self, name: str) -> dict[str, Any]:
        from anthropic.types.messages import MessageBatch

        lines, looks = self._batches[name], self._looks[name]
        self._looks[name] += 1
        ended = looks >= self.polls
        body = {
            "id": name, "type": "message_batch", "created_at": WHEN, "expires_at": WHEN,
            "processing_status": "ended" if ended else "in_progress",
            "ended_at": WHEN if ended else None, "archived_at": None, "cancel_initiated_at": None,
            "request_counts": {"processing": 0 if ended else len(lines), "canceled": 0, "errored": 0,
                               "expired": 0, "succeeded": len(lines) * ended},
            "results_url": self.results_at.format(name) if ended else None,
        }  # fmt: skip
        return MessageBatch.model_validate(body).model_dump(mode="json")

    def _anthropic_line(self, line: dict[str, Any]) -> dict[str, Any] | None:
        fate = self._fate(line)
        result: dict[str, Any] = {"type": "expired"}
        if fate == "gone":
            return None
        if fate == "errored":
            error = {"type": "invalid_request_error", "message": "no such parameter"}
            result = {
                "type": "errored",
                "error": {"type": "error", "error": error, "request_id": "r"},
            }
        elif fate != "expired":
            got = self._alone("/v1/messages", line["params"])
            result = {"type": "succeeded", "message": json.loads(got.body)}
        return {"custom_id": line["custom_id"], "result": result}

    def _fate(self, line: dict[str, Any]) -> str:
        text = json.dumps(line)
        return next((fate for word, fate in self.fates.items() if word in text), "")

    def _alone(self, path: str, body: dict[str, Any]) -> Answer:
        return self.judge(Call(path, {}, json.dumps(body).encode()))

    def _results(self, name: str, made: Callable[[dict[str, Any]], dict[str, Any] | None]) -> bytes:
        found = (made(one) for one in reversed(self._batches[name]))
        return b"\n".join(json.dumps(one).encode() for one in found if one)


def _json(value: dict[str, Any]) -> Answer:
    return Answer(body=json.dumps(value).encode())
