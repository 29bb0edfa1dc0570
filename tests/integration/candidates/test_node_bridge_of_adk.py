"""The bridge for Google's ADK for TypeScript, on agents that stop, fail and print."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from gateval.bridges import FOLDER

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")

PACKAGE = '{"name": "@google/adk", "type": "module", "exports": {".": {"import": "./adk.js"}}}'
ADK = "export class InMemoryRunner {\n  constructor({ agent }) {\n    this.agent = agent;\n    this.sessionService = { createSession: async () => ({ id: '1' }) };\n  }\n  runAsync(told) { return this.agent.runAsync(told); }\n}\n"
AGENT = "export const rootAgent = { name: 'desk', findAgent() {}, async *runAsync() { %s } };\n"
SAYS = "yield { author: 'desk', content: { parts: [{ text: 'Hm', thought: true }, { text: 'Yes' }] } };"


@pytest.mark.parametrize(
    ("does", "answer"),
    [
        (SAYS, {"output": "Yes"}),
        (SAYS + "yield { author: 'desk', errorCode: 'STOP' };", {"output": "Yes"}),
        ('process.stdout.write(\'{"output": "No"}\\n\');' + SAYS, {"output": "Yes"}),
        ("yield { author: 'desk', errorCode: 'SAFETY' };", "The model gave no text: SAFETY."),
        ("yield { author: 'desk', errorMessage: 'no quota' };", "model gave an error: no quota."),
        ("yield { author: 'desk', errorCode: 'STOP' };", "answered nothing"),
        ("throw null;", "raised null."),
        ("yield null;", "raised TypeError"),
    ],
)
def test_what_an_agent_does_is_its_answer_or_says_why_there_is_none(
    tmp_path: Path, does: str, answer: object
) -> None:
    package = tmp_path / "node_modules" / "@google" / "adk"
    package.mkdir(parents=True)
    (package / "package.json").write_text(PACKAGE)
    (package / "adk.js").write_text(ADK)
    (tmp_path / "agent.mjs").write_text(AGENT % does)
    asked = {"prompt": "Open?", "input": {"type": "prompt", "payload": {}}}
    (tmp_path / "asked").write_text(json.dumps(asked) + "\n")
    bridge = FOLDER / "node" / "bridge.mjs"
    words = [
        "sh",
        "-c",
        'exec node "$0" "$PWD" agent.mjs google-adk once 3>said 4<asked',
        str(bridge),
    ]
    subprocess.run(words, cwd=tmp_path, check=False, capture_output=True, timeout=60)
    (line,) = (tmp_path / "said").read_text().splitlines()
    said = json.loads(line)
    if isinstance(answer, str):
        assert answer in said["problem"]
    else:
        assert said == answer
