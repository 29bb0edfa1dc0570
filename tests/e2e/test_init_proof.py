"""`gateval init` asks its guess one question before it writes anything."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateval.app.proof import holds_here
from tests.e2e.test_bridges import desk
from tests.helpers.command import environment, gateval
from tests.helpers.repo import Repo
from tests.servers.model_server import Answer, Call, ModelServer, reply

ASKS = """\
import json, os, urllib.request
try:
    import openai
except ImportError:
    openai = None
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("order_status", "refund")]


def asked(messages, **more):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "gpt-5-mini", "messages": messages, **more}).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as got:
        return json.load(got)["choices"][0]["message"]


def answer(question):
    told = [{"role": "system", "content": "You know orders."}, {"role": "user", "content": question}]
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "properties": {"fine": {"type": "boolean"}}, "required": ["fine"]}}}
    guard = asked([{"role": "system", "content": "Is it harmless?"}, *told[1:]], response_format=schema)
    assert json.loads(guard["content"])["fine"]
    while True:
        said = asked(told, tools=TOOLS)
        if not said.get("tool_calls"):
            return said["content"]
        told.append(said)
        for call in said["tool_calls"]:
            told.append({"role": "tool", "tool_call_id": call["id"], "content": "in transit"})
"""
COMMAND = "import sys\nfrom asks import answer, openai\nif __name__ == '__main__':\n    print(answer(sys.argv[1]))\n"
NODE = """\
export async function answer(question) {
  const base = process.env.OPENAI_BASE_URL;
  const got = await fetch(base + "/chat/completions", {
    method: "POST",
    headers: { authorization: `Bearer ${process.env.OPENAI_API_KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "gpt-5-mini", messages: [{ role: "user", content: question }] }),
  });
  return (await got.json()).choices[0].message.content;
}
"""
SILENT = "import sys\ntry:\n    import openai\nexcept ImportError:\n    openai = None\nsys.argv[1]\nif __name__ == '__main__':\n    raise SystemExit('the database is away')\n"


def only(repo: Repo) -> tuple[dict[str, Any], str]:
    """The one manifest that was written, and the text of its Eval."""
    (file,) = repo.path.glob("agents/*/agent.yaml")
    return yaml.safe_load(file.read_text()), (file.parent / "evals.yaml").read_text()


def state(repo: Repo) -> bytes:
    """All that git knows of a repository, and what differs from it."""
    parts = (
        "for-each-ref",
        "ls-files --stage",
        "status --porcelain",
        "stash list",
        "worktree list",
    )
    return b"".join(repo.git(*one.split()) for one in parts)


@pytest.mark.parametrize("runtime", ["command", "python", "node"])
def test_what_answers_is_written_with_what_was_seen(tmp_path: Path, runtime: str) -> None:
    repo = Repo(tmp_path / "order-desk")
    repo.write("asks.py", ASKS)
    repo.write("desk.py", COMMAND)
    repo.write("desk.mjs", NODE)
    repo.commit("Begin")
    before = state(repo)
    named = {"command": "desk.py", "python": "desk.py:answer", "node": "desk.mjs:answer"}[runtime]
    done = gateval(repo, "init", named, "--yes", "--run", OPENAI_API_KEY="")
    assert done.returncode == 0, done.stdout + done.stderr
    counts = "1 agent, 0 tools" if runtime == "node" else "2 agents, 2 tools"
    assert re.search(
        rf"{named} answers: {counts}, 1 model; first answer in \d+\.\d s\.", done.stdout
    )
    assert "answered by a scripted model: yes, as --yes --run says." in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith("Next:  gateval run ")
    manifest, evals = only(repo)
    assert manifest["spec"]["runtime"]["type"] == runtime
    assert manifest["spec"]["models"] == ["openai/gpt-5-mini"]
    assert "\\w" not in evals
    assert "{type: cost, maxTokens:" in evals
    assert ("order_status, refund" in evals) == (runtime != "node")
    assert gateval(repo, "validate").returncode == 0
    repo.git("clean", "-fdq")
    assert state(repo) == before


def test_a_guess_that_gives_no_answer_is_not_written_and_the_next_is_tried(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("agent.py", SILENT)
    repo.write("asks.py", ASKS)
    repo.write("other/desk.py", COMMAND)
    repo.write("other/asks.py", ASKS)
    repo.commit("Begin")
    done = gateval(repo, "init", "--yes", "--run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "agent.py gave no answer, so it is not written." in done.stdout
    assert "the database is away" in done.stdout
    assert "other/desk.py answers: 2 agents" in done.stdout
    assert only(repo)[0]["spec"]["runtime"]["command"][-2] == "desk.py"


def test_a_set_up_that_failed_is_not_made_again_for_the_next_guess(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    for name in ("agent.py", "main.py"):
        repo.write(name, COMMAND)
    repo.write("asks.py", ASKS)
    repo.write("requirements.txt", "./missing\n")
    repo.commit("Begin")
    done = gateval(repo, "init", "--yes", "--run")
    assert done.returncode == 2
    assert done.stdout.count("The set-up ended with exit code 1.") == 1
    assert "Not tried, for their set-up is the same: main.py." in done.stdout
    repo.write("other/desk.py", COMMAND)
    repo.write("other/asks.py", ASKS)
    repo.write("other/requirements.txt", "")
    repo.commit("Another")
    done = gateval(repo, "init", "--yes", "--run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "agent.py gave no answer, so it is not written. The set-up ended" in done.stdout
    assert "main.py gave no answer" not in done.stdout
    assert "other/desk.py answers: 2 agents" in done.stdout


@pytest.mark.skipif(shutil.which("npm") is None, reason="takes npm")
def test_a_set_up_whose_lock_file_does_not_fit_goes_on(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    project = {"name": "desk", "version": "1.0.0", "dependencies": {"part": "file:part"}}
    locked = {"name": "desk", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {}}}
    repo.write("part/package.json", json.dumps({"name": "part", "version": "1.0.0"}))
    repo.write("package.json", json.dumps(project))
    repo.write("package-lock.json", json.dumps(locked))
    repo.write("desk.mjs", NODE)
    repo.commit("Begin")
    done = gateval(repo, "init", "desk.mjs:answer", "--yes", "--run")
    assert done.returncode == 0, done.stdout + done.stderr
    first, _, rest = done.stdout.partition("Its package manager goes on with `npm install`.")
    assert "Missing: part@" in first
    assert "not written" not in first
    assert "desk.mjs:answer answers: 1 agent" in rest
    assert "No Agent here. desk.mjs:answer is the first Agent." in rest
    manifest, _ = only(repo)
    assert manifest["spec"]["runtime"]["setup"]["run"] == ["npm", "install"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (SILENT, "the database is away"),
        (f"import os\nos.getenv('MOOD')\n{SILENT}", "It reads MOOD, and nothing sets it:"),
        (SILENT.replace("raise SystemExit", "print"), "It answered, and called no model."),
    ],
)
def test_where_no_guess_answers_nothing_is_written(tmp_path: Path, text: str, why: str) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("agent.py", text)
    repo.commit("Begin")
    done = gateval(repo, "init", "--yes", "--run")
    assert done.returncode == 2
    assert why in done.stdout
    assert "No guess gave an answer, so nothing was written." in done.stderr
    assert "gateval init FILE:OBJECT" in done.stderr
    assert repo.git("status", "--porcelain") == b""


def test_it_has_no_way_out_and_nothing_of_the_gate_s_environment(tmp_path: Path) -> None:
    if not holds_here({}):
        pytest.skip("nothing here holds a candidate to the gateway")
    looks = """\
import os, socket, sys
from asks import answer, openai
print(os.environ.get("DESK_KEY"), file=sys.stderr)
key = os.environ["DESK_KEY"]
try:
    socket.create_connection(("127.0.0.1", int(open("port").read())), 2)
    way = "out"
except OSError:
    way = "held"
if __name__ == "__main__":
    said = answer(sys.argv[1])
    print(said) if (key, way) == ("placeholder", "held") else sys.exit(f"{key} {way}")
"""
    repo = Repo(tmp_path / "new")
    repo.write(".github/gateval.yml", "policy: {candidateEnv: [DESK_KEY], egress: open}\n")
    repo.write("asks.py", ASKS)
    repo.write("agent.py", looks)
    repo.write("requirements.txt", "")
    with socket.create_server(("127.0.0.1", 0)) as other:
        repo.write("port", f"{other.getsockname()[1]}\n")
        repo.commit("Begin")
        done = gateval(repo, "init", "agent.py", "--yes", "--run", DESK_KEY="sk-real-0123456789")
        assert done.returncode == 0, done.stdout + done.stderr


def test_variables_that_it_reads_are_named_and_proposed(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("asks.py", ASKS)
    repo.write(
        "desk.py",
        f"import os\nKEY = os.environ['DESK_KEY']\nassert os.environ['DESK_URL'][:7] == 'http://'\nPLACE = os.getenv('PLACE', 'x')\n"
        "assert os.environ['DESK_MODE'] == 'fast'\nassert os.environ['DB_URL'][:13] == 'postgresql+x:'\n"
        f"{COMMAND}",
    )
    repo.write(
        ".env.example",
        "OPENAI_API_KEY=\nDESK_URL=https://desk\nLANGSMITH_PROJECT=x\nDESK_MODE=fast\nDESK_MOOD=\n"
        "DB_URL=postgresql+x://a:b@localhost/db\n",
    )
    done = gateval(repo, "init", "--yes", "--run")
    assert done.returncode == 0, done.stdout + done.stderr
    names = "DESK_KEY, DESK_URL, DB_URL, DESK_MOOD"
    assert f"It reads {names}. " in done.stdout
    assert f"Not set here: {names}." in done.stdout
    assert "Its manifest sets DESK_MODE, as the example in the repository does." in done.stdout
    assert (
        "For that, DESK_KEY, DESK_URL, DB_URL held a placeholder, which is no key." in done.stdout
    )
    config = (repo.path / ".github/gateval.yml").read_text()
    assert f"  # candidateEnv: [{names}]" in config
    assert only(repo)[0]["spec"]["runtime"]["env"] == {"DESK_MODE": "fast"}
    assert gateval(repo, "validate").returncode == 0


def test_live_what_it_did_becomes_the_first_fixture(tmp_path: Path) -> None:
    def serve(call: Call) -> Answer:
        if b"harmless" in call.raw:
            return reply(call, '{"fine": true}')
        if b"in transit" in call.raw:
            return reply(call, "I can trace parcels and more.")
        return reply(call, tools=[("c1", "order_status", {}), ("c2", "refund", {})])

    repo = Repo(tmp_path / "new")
    repo.write("asks.py", ASKS)
    repo.write("desk.py", COMMAND)

    async def story() -> None:
        async with ModelServer(serve) as provider:
            words = ("init", "--yes", "--run", "--live")
            given = {"OPENAI_BASE_URL": provider.openai_url, "OPENAI_API_KEY": "sk-of-this-test"}
            done = await asyncio.to_thread(gateval, repo, *words, **given)
            assert done.returncode == 0, done.stdout + done.stderr
            assert len(provider.calls) == 3
        evals = only(repo)[1]
        for held in (
            "- {type: toolCalled, tool: order_status}",
            "- {type: toolSequence, tools: [order_status, refund]}",
            "- {type: contains, value: parcels, ignoreCase: true}",
        ):
            assert held in evals

    asyncio.run(story())


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ("Я помогу с возвратом.", "возвратом"),
        ("我可以帮助你。", "我可以帮助你"),
        ("Nein. 42", "Nein"),
    ],
)
def test_live_a_word_is_one_in_any_script(tmp_path: Path, answer: str, word: str) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("desk.mjs", NODE)

    async def story() -> None:
        async with ModelServer(lambda call: reply(call, answer)) as provider:
            words = ("init", "desk.mjs:answer", "--yes", "--run", "--live")
            given = {"OPENAI_BASE_URL": provider.openai_url, "OPENAI_API_KEY": "sk-of-this-test"}
            done = await asyncio.to_thread(gateval, repo, *words, **given)
            assert done.returncode == 0, done.stdout + done.stderr
        held = yaml.safe_load(only(repo)[1].partition("---")[0])["spec"]["assertions"][0]
        assert held == {"type": "contains", "value": word, "ignoreCase": True}

    asyncio.run(story())


def test_live_without_a_key_says_so_once(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("asks.py", ASKS)
    repo.write("desk.py", COMMAND)
    repo.write("other.py", COMMAND)
    done = gateval(repo, "init", "--yes", "--run", "--live", OPENAI_API_KEY="")
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout.count("gave no answer, so it is not written") == 1
    assert "Its own model gave no answer, so nothing was written." in done.stderr
    assert "leave out --live" in done.stderr


def test_without_somebody_to_ask_it_says_how_to_agree(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    done = gateval(repo, "init", "--run")
    assert done.returncode == 2
    assert "--yes --run" in done.stderr
    costly = gateval(repo, "init", "--yes", "--live")
    assert costly.returncode == 2
    assert "--yes --run --live" in costly.stderr


def at_terminal(repo: Repo, answers: str) -> str:
    """Return what `init` prints at a terminal at which somebody types these lines."""
    ours, theirs = pty.openpty()
    environ = {
        **environment(repo),
        "TERM": "dumb",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "gateval", "init"],
        cwd=repo.path, env=environ, stdin=theirs, stdout=theirs, stderr=theirs,
    ) as process:  # fmt: skip
        os.close(theirs)
        os.write(ours, answers.encode())
        said = b""
        with contextlib.suppress(OSError):
            while more := os.read(ours, 65536):
                said += more
        process.wait()
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("answer", ["y", "n"])
def test_at_a_terminal_it_asks_first_and_shows_the_set_up(tmp_path: Path, answer: str) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("asks.py", ASKS)
    repo.write("desk.py", COMMAND)
    repo.write("requirements.txt", "")
    said = at_terminal(repo, f"{answer}\n")
    flat = " ".join(said.split())
    assert "pip install --quiet -r requirements.txt'` with the network, then one question" in flat
    assert "[Y/n]" in flat
    assert ("desk.py answers" in flat) == (answer == "y")
    assert (repo.path / "agents").exists(), said


def test_a_self_test_shows_the_red_and_leaves_everything_as_it_is(tmp_path: Path) -> None:
    repo = desk(tmp_path, "python")
    repo.write("notes.txt", "not committed\n")
    before = state(repo)
    done = gateval(repo, "init", "--self-test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "order_status is called order_status_renamed now." in done.stdout
    assert "order-7 (desk-eval" in done.stdout
    assert "gateval check --base" not in done.stdout  # a commit of the copy, which is gone
    assert "gateval show" not in done.stdout + done.stderr
    assert "The gate is red, as it should be. Your files are as they were." in done.stdout
    assert state(repo) == before


def test_a_self_test_that_nothing_would_see_is_told(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    assert gateval(repo, "init").returncode == 0
    done = gateval(repo, "init", "--self-test")
    assert done.returncode == 2
    assert "No fixture says which tool has to be called" in done.stderr
    alone = gateval(repo, "init", "--self-test", "--yes", "--run")
    assert alone.returncode == 2


NEVER = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec: {models: [scripted/desk], system: You help., tools: [{name: find_order}]}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: order}
spec:
  input: {type: prompt, payload: {prompt: Where is it?}}
  assertions: [{type: toolCalled, tool: find_order}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec: {targetAgent: desk, fixtures: [order]}
"""


def test_a_self_test_of_a_fixture_that_fails_anyway_says_so(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("desk.yaml", NEVER)
    repo.write(".gateval/scripted/desk.yaml", "rules: [{reply: Somewhere.}]\n")
    done = gateval(repo, "init", "--self-test")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "no fixture that passes as it is rests on its call." in done.stdout
