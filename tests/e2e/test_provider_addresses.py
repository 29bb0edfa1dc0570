"""A change names a provider that nobody gave an address: whoever listens on its customary port."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.servers.model_server import Answer, Call, reply

PORT = 11434

AGENTS = {
    "model": "  models: [MODEL]\n",
    "fallback": "  models: [openai/gpt-test, MODEL]\n",
    "command": "  uses: [MODEL]\n  runtime: {type: command, command: [python3, desk.py]}\n",
}

PROGRAM = """\
import json, os, sys, urllib.request
asked = json.load(sys.stdin)["prompt"]
request = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps({"model": "MODEL", "messages": [{"role": "user", "content": asked}]}).encode(),
    {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
)
with urllib.request.urlopen(request) as answered:
    print(json.load(answered)["choices"][0]["message"]["content"])
"""

AGENT = "apiVersion: gateval/v1\nkind: Agent\nmetadata: {name: support}\nspec:\n"

FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions: [ASSERTION]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: support-eval}
spec:
  targetAgent: support
  fixtureSelector: {matchLabels: {agent: support}}
"""


def listening(handler: type[BaseHTTPRequestHandler], until: float) -> ThreadingHTTPServer:
    """Listen on the port; tests beside this one want it too."""
    while True:
        try:
            return ThreadingHTTPServer(("127.0.0.1", PORT), handler)
        except OSError:
            assert time.monotonic() < until, f"somebody listens on {PORT}"
            time.sleep(0.05)


class Spied(list[str]):
    """What somebody who listens on the port was asked."""


@contextmanager
def spy() -> Iterator[Spied]:
    heard = Spied()

    class Spy(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())
            self.send_error(500)

        def log_message(self, *_: object) -> None:
            """Be silent."""

    server = listening(Spy, time.monotonic() + 60)
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield heard
        server.shutdown()


def judge(call: Call) -> Answer:
    text = '{"score": 1, "confidence": 1, "summary": "Fine.", "violations": [], '
    judged = b"what_would_raise_score" in call.raw
    return reply(call, text + '"what_would_raise_score": ""}' if judged else "Hello!")


def said(text: str) -> str:
    return " ".join(text.split())


def shop(path: Path, agent: str, assertion: str = "{type: contains, value: Hello}") -> Repo:
    repo = Repo(path / "shop")
    repo.write("desk.py", PROGRAM.replace("MODEL", "openai/gpt-test"))
    repo.write("agent.yaml", AGENT + AGENTS[agent].replace("MODEL", "openai/gpt-test"))
    repo.write("evals.yaml", FIXTURE.replace("ASSERTION", assertion))
    repo.commit()
    repo.branch("change", "main")
    return repo


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("model", ["ollama/spy", "vllm/spy"])
def test_head_that_names_it_fails_and_nobody_is_asked(
    tmp_path: Path, agent: str, model: str
) -> None:
    repo = shop(tmp_path, agent)
    repo.write("desk.py", PROGRAM.replace("MODEL", model))
    named = AGENTS[agent].replace("MODEL", model)
    repo.write("agent.yaml", AGENT + named)
    repo.commit()
    with spy() as heard, provider(judge) as (_, environ):
        done = gateval(repo, "check", "--base", "main", **environ)
    assert heard == []
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{model} needs {model.partition('/')[0].upper()}_BASE_URL" in said(done.stdout)
    assert "asked for the first time" in said(done.stdout)


JUDGED = FIXTURE.replace("ASSERTION", "{type: judge, rubric: Is polite.}")
JUDGED += "  judge: {model: openai/judge}\n"
LIKE = "{type: similar, to: Hello, metric: embeddings, model: ollama/spy, min: 0.5}, {type: judge"

ASKED = {
    "judge": JUDGED.replace("openai/judge", "ollama/spy"),
    "likeness": JUDGED.replace("{type: judge", LIKE),
}


def judged(path: Path, evals: str) -> Repo:
    """A repository with a judge, in which a change brings these Evals and another model."""
    repo = shop(path, "model")
    repo.checkout("main")
    repo.write("evals.yaml", JUDGED)
    repo.commit()
    repo.branch("judged", "main")
    repo.checkout("judged")
    repo.write("evals.yaml", evals)
    repo.write("agent.yaml", AGENT + AGENTS["model"].replace("MODEL", "openai/gpt-other"))
    repo.commit()
    return repo


@pytest.mark.parametrize("what", ASKED)
def test_as_a_judge_it_is_sent_nothing_and_nothing_passes(tmp_path: Path, what: str) -> None:
    repo = judged(tmp_path, ASKED[what])
    with spy() as heard, provider(judge) as (_, environ):
        done = gateval(repo, "check", "--base", "main", **environ)
    assert heard == []
    assert done.returncode == 3, done.stdout + done.stderr
    assert "ollama/spy needs OLLAMA_BASE_URL" in said(done.stderr)


def test_a_new_judge_lowers_the_bar_and_is_named_before_all_else(tmp_path: Path) -> None:
    repo = judged(tmp_path, JUDGED.replace("openai/judge", "anthropic/other"))
    out = tmp_path / "out"
    with provider(judge) as (_, environ):
        done = gateval(repo, "check", "--base", "main", "--results", str(out), **environ)
    assert done.returncode == 0, "it meets the old one, too"
    assert "support-eval (target branch)" in done.stdout
    comment = (out / "comment.md").read_text("utf-8")
    first, table = comment.index("anthropic, by the judge of"), comment.index("| Agent | Eval |")
    assert comment.index("### ") < first < table < comment.index("openai/judge → anthropic/other")
