"""The official Node client with the address that it has built in, led to the gateway."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateval.domain.trials.trial import Answer
from tests.frameworks.test_bridges import SAMPLES, made
from tests.helpers.candidates import command_agent
from tests.helpers.frameworks import PROGRAMS, need_frameworks
from tests.integration.candidates.test_redirect import OWN, ran, redirected

PROGRAM = f"""
import OpenAI from "openai";
const client = new OpenAI({{ apiKey: "{OWN}", baseURL: "https://api.openai.com/v1", maxRetries: 0 }});
const asked = {{ model: "m", messages: [{{ role: "user", content: "hi" }}] }};
const whole = await client.chat.completions.create(asked);
let streamed = "";
for await (const part of await client.chat.completions.create({{ ...asked, stream: true }})) {{
  streamed += part.choices[0]?.delta?.content ?? "";
}}
console.log(whole.choices[0].message.content, streamed);
"""


@pytest.mark.frameworks
def test_the_official_node_client_comes_to_the_gateway(tmp_path: Path) -> None:
    need_frameworks()
    files = [str(SAMPLES / "node" / name) for name in ("package.json", "package-lock.json")]
    npm = ["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
    lock = SAMPLES / "node" / "package-lock.json"
    modules = made("node", lock, ["cp", *files, "."], [*npm, "--legacy-peer-deps"])
    agent = redirected(command_agent((str(PROGRAMS / "node"), "agent.mjs")))
    links = {"node_modules": modules / "node_modules"}
    given, calls, brought = ran(tmp_path, agent, {"agent.mjs": PROGRAM}, links=links)
    assert isinstance(given, Answer), given
    assert given.output.split() == ["Hello", "Hello"]
    assert (len(calls), brought) == (2, {OWN})
