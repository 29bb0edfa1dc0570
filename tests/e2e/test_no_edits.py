"""Programs as they are: a built-in address and a key of their own, and files beside their code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.helpers import stored
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL

OWN, SILENT = "sk-live-0123456789abcdefghij", "sk-never-sent-0123456789abcdef"
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: asks, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: "Where is order 7?"}}
  assertions: [{type: contains, value: in transit}, {type: notContains, value: sk-nothing}]
"""
AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: support}}
spec:
  models: [scripted/desk]
  runtime: {{type: command, command: [python3, agent.py]{more}}}
"""
PROGRAM = f"""\
import json, pathlib, sys, urllib.request
KEY = "{OWN}"
pathlib.Path("seen.txt").open("a").write("x")
print("the key is", KEY, "and there is", "{SILENT}", file=sys.stderr)
body = {{"model": "scripted/desk", "messages": [{{"role": "user", "content": "Where is order 7?"}}]}}
asked = urllib.request.Request(
    "https://api.openai.com/v1/chat/completions",
    json.dumps(body).encode(),
    {{"Authorization": "Bearer " + KEY, "Content-Type": "application/json"}},
)
said = json.load(urllib.request.urlopen(asked))["choices"][0]["message"]["content"]
print(said, KEY, "{SILENT}")
"""
DESK = "rules: [{reply: It is in transit.}]\n"
ON = ", workdir: copy, redirect: true"


def shop(tmp_path: Path, more: str) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("agents/agent.py", PROGRAM)
    repo.write("agents/support.yaml", AGENT.format(more=more))
    repo.write("evals/asks.yaml", FIXTURE)
    repo.write("evals/support-eval.yaml", EVAL)
    repo.write(".gateval/scripted/desk.yaml", DESK)
    repo.commit("A desk")
    return repo


def test_a_change_that_turns_them_on_is_compared_with_a_base_that_has_them(
    tmp_path: Path,
) -> None:
    repo = shop(tmp_path, "")
    repo.git("checkout", "-q", "-b", "change")
    repo.write("agents/support.yaml", AGENT.format(more=ON))
    repo.commit("Run as it is")
    done = gateval(repo, "check", "--base", "main", "--results", str(repo.path.parent / "out"))
    assert done.returncode == 0, done.stdout + done.stderr
    texts = {
        path.name: stored.content(path).decode(errors="replace")
        for path in (repo.path.parent / "out").rglob("*")
        if path.is_file()
    }
    for name, text in texts.items():
        assert OWN not in text, name
        assert SILENT not in text, name
    assert OWN not in done.stdout + done.stderr
    found = {one["key"]["side"]: one for one in stored.trials(repo.path.parent / "out")}
    assert {side: one["outcome"] for side, one in found.items()} == {"head": "pass", "base": "pass"}
    for one in found.values():
        assert one["output"].count("[secret removed]") == 2
        assert one["trace"]["redirected"] == ["api.openai.com"]
    assert "redirected from api.openai.com" in texts["comment.md"]


def test_without_them_the_reason_says_what_to_write(tmp_path: Path) -> None:
    repo = shop(tmp_path, "")
    done = gateval(repo, "run", "support-eval")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "`runtime.workdir: copy`" in " ".join((done.stdout + done.stderr).split())


def test_a_provider_that_cannot_be_reached_is_named_with_what_to_write(tmp_path: Path) -> None:
    repo = shop(tmp_path, ", workdir: copy")
    repo.write("agents/agent.py", "raise SystemExit('Error: getaddrinfo ENOTFOUND api.openai.com')")
    repo.commit("Asks by name")
    done = gateval(repo, "run", "support-eval")
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 1, said
    assert "It called api.openai.com at its own address" in said
    assert "`runtime.redirect: true`" in said


@pytest.mark.parametrize("told", [True, False], ids=["by its text", "by what it prints"])
def test_init_sets_what_a_program_needs(tmp_path: Path, *, told: bool) -> None:
    repo = Repo(tmp_path / "shop")
    hidden = INIT_PROGRAM.replace("https://api", '" + "https://" + "api')
    hidden = hidden.replace('open("history.txt", "a")', 'open("".join(["history.txt"]), "a")')
    repo.write("agent.py", INIT_PROGRAM if told else hidden)
    repo.commit("A program")
    done = gateval(repo, "init", "--yes", "--run", "agent.py")
    assert done.returncode == 0, done.stdout + done.stderr
    (manifest,) = (one for one in repo.path.rglob("*.yaml") if "kind: Agent" in one.read_text())
    assert "workdir: copy" in manifest.read_text()
    assert "redirect: true" in manifest.read_text()


INIT_PROGRAM = f"""\
import json, sys, urllib.request
if len(sys.argv) > 9:
    import openai
question = sys.stdin.read()
with open("history.txt", "a") as file:
    file.write(question)
body = {{"model": "gpt-5-mini", "messages": [{{"role": "user", "content": question}}]}}
asked = urllib.request.Request(
    "https://api.openai.com/v1/chat/completions",
    json.dumps(body).encode(),
    {{"Authorization": "Bearer {OWN}", "Content-Type": "application/json"}},
)
print(json.load(urllib.request.urlopen(asked))["choices"][0]["message"]["content"])
"""


DESCRIPTION = {
    "openapi": "3.1.0",
    "paths": {
        "/v1/ask": {
            "post": {
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}
                }
            }
        }
    },
    "components": {
        "schemas": {
            "A": {
                "properties": {"question": {"type": "string"}, "session": {"type": "string"}},
                "required": ["question", "session"],
            }
        }
    },
}
SERVER = f"""\
import http from "node:http";
const said = {json.dumps(DESCRIPTION)};
http.createServer(async (req, res) => {{
  let text = "";
  for await (const part of req) text += part;
  if (req.url === "/openapi.json") return res.end(JSON.stringify(said));
  const given = req.url === "/v1/ask" ? JSON.parse(text) : {{}};
  if (!given.session || !given.question) return res.writeHead(422).end("what is asked?");
  const got = await fetch("https://api.openai.com/v1/chat/completions", {{
    method: "POST",
    headers: {{ authorization: "Bearer {OWN}", "content-type": "application/json" }},
    body: JSON.stringify({{ model: "m", messages: [{{ role: "user", content: given.question }}] }}),
  }});
  res.end((await got.json()).choices[0].message.content);
}}).listen(process.env.PORT, "127.0.0.1");
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("kept", [True, False], ids=["as a file", "as it is served"])
def test_init_asks_a_server_as_its_description_says(tmp_path: Path, *, kept: bool) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("server.mjs", SERVER)
    if kept:
        repo.write("openapi.json", json.dumps(DESCRIPTION))
    repo.commit("A server")
    done = gateval(repo, "init", "--yes", "--run", "server.mjs")
    assert done.returncode == 0, done.stdout + done.stderr
    (manifest,) = (one for one in repo.path.rglob("*.yaml") if "kind: Agent" in one.read_text())
    text = manifest.read_text()
    assert '"question": "{{ prompt }}", "session": "gateval"' in text
    assert "a guess" not in text


@pytest.mark.parametrize("kept", [True, False])
def test_a_body_that_nobody_asked_with_is_marked_as_a_guess(tmp_path: Path, *, kept: bool) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("server.mjs", SERVER)
    if kept:
        repo.write("openapi.json", json.dumps(DESCRIPTION))
    repo.commit("A server")
    done = gateval(repo, "init", "--yes", "server.mjs")
    assert done.returncode == 0, done.stdout + done.stderr
    (manifest,) = (one for one in repo.path.rglob("*.yaml") if "kind: Agent" in one.read_text())
    (line,) = (one for one in manifest.read_text().splitlines() if "request:" in one)
    assert "# a guess" in line
    assert ("session" in line) is kept
