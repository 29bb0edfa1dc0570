"""The test server for batches speaks as the official clients expect."""

from __future__ import annotations

import json

import pytest

from tests.helpers.providers import KEY, provider
from tests.servers.batches import BatchServer
from tests.servers.model_server import reply

ASKED = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5}


def test_openais_client() -> None:
    openai = pytest.importorskip("openai")
    served = BatchServer(lambda call: reply(call, "Hi"), polls=1, fates={"Bye": "expired"})
    bye = {**ASKED, "messages": [{"role": "user", "content": "Bye"}]}
    lines = [
        {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}
        for name, body in (("a", ASKED), ("b", bye))
    ]
    with provider(served) as (server, _):
        client = openai.OpenAI(base_url=server.openai_url, api_key=KEY)
        content = b"\n".join(json.dumps(one).encode() for one in lines)
        file = client.files.create(file=("batch.jsonl", content), purpose="batch")
        batch = client.batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
        assert batch.status == "in_progress"
        batch = client.batches.retrieve(batch.id)
        assert batch.status == "expired"
        (answered,) = client.files.content(batch.output_file_id).text.splitlines()
        (expired,) = client.files.content(batch.error_file_id).text.splitlines()
    said = json.loads(answered)["response"]["body"]["choices"][0]["message"]["content"]
    assert said == "Hi"
    assert json.loads(expired)["error"]["code"] == "batch_expired"


def test_anthropics_client() -> None:
    anthropic = pytest.importorskip("anthropic")
    served = BatchServer(lambda call: reply(call, "Hi"), polls=1, fates={"Bye": "errored"})
    bye = {**ASKED, "messages": [{"role": "user", "content": "Bye"}]}
    with provider(served) as (server, _):
        client = anthropic.Anthropic(base_url=server.url, api_key=KEY)
        requests = [{"custom_id": "a", "params": ASKED}, {"custom_id": "b", "params": bye}]
        batch = client.messages.batches.create(requests=requests)
        assert client.messages.batches.retrieve(batch.id).processing_status == "ended"
        served.results_at = f"{server.url}/v1/messages/batches/{{}}/results"
        results = client.messages.batches.results(batch.id)
        found = {one.custom_id: one.result.type for one in results}
    assert found == {"a": "succeeded", "b": "errored"}
