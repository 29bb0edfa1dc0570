"""A run that was recorded is replayed: the same trials and verdict, without keys, and nobody asked."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.calibrations import verdict
from tests.helpers.command import gateval
from tests.helpers.providers import KEY, provider
from tests.helpers.repo import Repo
from tests.helpers.sealed import CONFIG, HELD, leaks, seal
from tests.helpers.sealed import KEY as IDENTITY
from tests.servers.model_server import Answer, Call, reply

TOKEN = "crm-0123456789abcdef"
PROGRAM = """\
import datetime, json, os, sys, urllib.request, uuid

def ask(text):
    body = {"model": "agent", "messages": [{"role": "user", "content": text}], "user": str(uuid.uuid4())}
    asked = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(asked) as answered:
        return json.load(answered)["choices"][0]["message"]["content"]

told = [os.getcwd(), os.environ["HOME"], os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]]
told += [os.environ["CRM_TOKEN"], str(uuid.uuid4()), datetime.date.today().isoformat()]
question = json.load(sys.stdin)["prompt"]
first = ask(f"STYLE: {question}\\n" + "\\n".join(told))
print(ask(f"You said {first!r}. Again, please."))
"""
AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  models: [openai/agent]
  runtime: {type: command, command: [python3, desk.py]}
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {of: desk}}
  judge: {model: openai/judge}
"""
FIXTURE = """\
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: case-NUMBER, labels: {of: desk}}
spec:
  input: {type: prompt, payload: {prompt: "Hello NUMBER"}}
  assertions:
    - {type: contains, value: polite}
    - {type: judge, rubric: Is it polite?}
"""
QUIET = FIXTURE.replace("NUMBER", "quiet").replace(
    "    - {type: judge, rubric: Is it polite?}\n", ""
)
RULES = "policy:\n  candidateEnv: [CRM_TOKEN]\n"


class Desk:
    """Answers as the agent's model and the judge, the same in each run, and hears what was drawn."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.calls = 0

    def __call__(self, call: Call) -> Answer:
        self.calls += 1
        text = "\n".join(str(one["content"]) for one in call.body["messages"])
        self.heard += re.findall(r"<run-([0-9a-f]{16})>", text)[:1]
        self.heard += re.findall(r"gateval-[A-Za-z0-9_-]{43}|127\.0\.0\.1:\d+|candidate-\w+", text)
        said = "very rude" if "curt" in text else "quite polite"
        answer = reply(
            call,
            verdict(1.0) if "rubric" in text else f"I am {said}. {text.splitlines()[0]}",
        )
        return replace(answer, body=re.sub(rb"chatcmpl-\d+", b"chatcmpl-1", answer.body))


@pytest.fixture
def desk(tmp_path: Path) -> Repo:
    """An agent that tells its model everything it can see; on the branch `next` it is curt."""
    repo = Repo(tmp_path / "desk")
    repo.write("agent.yaml", AGENT)
    repo.write("desk.py", PROGRAM.replace("STYLE", "kind"))
    fixtures = "".join(FIXTURE.replace("NUMBER", str(number)) for number in range(3))
    repo.write("evals/desk.yaml", EVAL + fixtures)
    repo.write(".github/gateval.yml", RULES)
    repo.commit()
    repo.branch("next")
    repo.write("desk.py", PROGRAM.replace("STYLE", "curt"))
    repo.commit("Curt")
    return repo


CHECK = ("check", "--base", "main", "--head", "next", "--fresh")


def trials(folder: Path) -> Any:
    """How the trials of a run went and why, and what they took."""
    told = ("key", "outcome", "reason", "output", "assessments", "usage", "judge_usage", "calls")
    found = json.loads((folder / "results.v1.json").read_text())["trials"]
    return [{name: one.get(name) for name in told} for one in found]


def files(folder: Path) -> Mapping[str, str]:
    found = [one for one in folder.rglob("*") if one.is_file()]
    return {str(one.relative_to(folder)): one.read_text() for one in found}


def test_a_recorded_failure_is_replayed_by_the_printed_command_without_keys(
    desk: Repo, tmp_path: Path
) -> None:
    model = Desk()
    drawn = []
    for number in (1, 2):
        model.heard = []
        with provider(model) as (_, environ):
            out = str(tmp_path / f"out-{number}")
            done = gateval(desk, *CHECK, "--record", "--results", out, **environ, CRM_TOKEN=TOKEN)
        assert done.returncode == 1, done.stdout + done.stderr
        drawn.append(model.heard)
    folder = tmp_path / "out-1"
    first, second = files(folder / "recording"), files(tmp_path / "out-2/recording")
    calls = {name: json.loads(text) for name, text in first.items()}
    assert sum(map(len, calls.values())) == model.calls / 2
    asked = [(one["asks"], one["ordinal"]) for one in calls["desk-eval/case-0/base-1.json"]]
    assert asked == [("agent", 1), ("agent", 1), ("judge", 1), ("judge", 2)], "judged again"
    assert first == second, "two recordings of the same run can be compared"
    kinds = ("gateval-", "127.0.0.1:", "candidate-")
    assert all(any(one.startswith(kind) for one in drawn[0]) for kind in kinds), drawn[0]
    assert not set(drawn[0]) & set(drawn[1]), "repository and plan tell nothing of what is drawn"
    nonces = [one for one in drawn[0] if re.fullmatch("[0-9a-f]{16}", one)]
    assert len(nonces) == len(set(nonces)) >= 6, "each judgement has delimiters of its own"
    for text in first.values():
        assert not [one for one in (TOKEN, KEY, *drawn[0]) if one in text]

    (command,) = re.findall(r"(gateval run --replay \S+ --offline)", " ".join(done.stdout.split()))
    words = shlex.split(command.replace("out-2", "out-1"))[1:]
    again = gateval(desk, *words, "--results", str(tmp_path / "again"), CRM_TOKEN="another-secret")
    assert again.returncode == 1, again.stdout + again.stderr
    assert trials(tmp_path / "again") == trials(folder)
    assert "Answers were replayed from" in again.stdout
    assert not (tmp_path / "again/plan.v1.json").exists(), "nobody goes on from a replay"
    assert not (tmp_path / "again/run.v1.json").exists(), "nothing of it is remembered"

    (folder / "recording/desk-eval/case-1/head-1.json").unlink()
    part = (*CHECK, "--fixture", "case-1", "--replay", str(folder), "--offline")
    lost = gateval(desk, *part, CRM_TOKEN=TOKEN)
    assert lost.returncode == 3, lost.stdout
    assert "Nothing of agent is recorded in desk-eval/case-1/head-1" in " ".join(
        lost.stdout.split()
    )


def test_jurors_who_ask_side_by_side_are_replayed_each_with_their_own_word(
    desk: Repo, tmp_path: Path
) -> None:
    """They ask the same of other models, under the name of one trial."""
    scores = {"judge-a": 1.0, "judge-b": 0.9, "judge-c": 0.2}
    jury = ", ".join(f"openai/{name}" for name in scores)
    text = (desk.path / "evals/desk.yaml").read_text("utf-8")
    desk.write("evals/desk.yaml", text.replace("{model: openai/judge}", f"{{models: [{jury}]}}"))
    desk.commit("A jury")
    plain = Desk()

    def model(call: Call) -> Answer:
        answer = plain(call)
        score = scores.get(call.body["model"], 1.0)
        told = answer.body.replace(b'\\"score\\": 1.0', f'\\"score\\": {score}'.encode())
        return replace(answer, body=told)

    folders = [tmp_path / "out-1", tmp_path / "out-2"]
    run = ("run", "desk-eval", "--rev", "next")
    with provider(model) as (_, environ):
        for folder in folders:
            asked = (*run, "--record", "--results", str(folder))
            done = gateval(desk, *asked, **environ, CRM_TOKEN=TOKEN)
            assert done.returncode in {0, 1}, done.stdout + done.stderr
    first, second = (files(folder / "recording") for folder in folders)
    assert first == second
    (case,) = [json.loads(one) for name, one in first.items() if "case-0" in name]
    judges = [one["model"] for one in case if one["asks"] == "judge"]
    assert set(judges) == {f"openai/{name}" for name in scores}, judges
    calls = plain.calls
    again = gateval(
        desk,
        *(*run, "--replay", str(folders[0]), "--offline", "--results", str(tmp_path / "again")),
        CRM_TOKEN=TOKEN,
    )
    assert again.returncode == done.returncode, again.stdout + again.stderr
    assert plain.calls == calls
    assert trials(tmp_path / "again") == trials(folders[0])


def test_a_run_that_calls_no_model_has_no_recording_and_says_so(desk: Repo, tmp_path: Path) -> None:
    desk.write("desk.py", "print('a polite answer')\n")
    desk.write("evals/desk.yaml", EVAL.replace("  judge: {model: openai/judge}\n", "") + QUIET)
    desk.commit("Answers without a model")
    out = tmp_path / "out"
    done = gateval(
        desk,
        "run",
        "desk-eval",
        "--record",
        "--results",
        str(out),
        CRM_TOKEN=TOKEN,
        OPENAI_API_KEY=KEY,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "There is no recording: no model of a provider was called." in done.stdout + done.stderr
    again = gateval(
        desk, "run", "--replay", str(out), "--offline", CRM_TOKEN=TOKEN, OPENAI_API_KEY=KEY
    )
    assert (again.returncode, again.stdout) == (2, "")
    assert "has no recording to replay" in again.stderr


def test_a_changed_agent_is_not_answered_for_by_its_recording(desk: Repo, tmp_path: Path) -> None:
    with provider(Desk()) as (_, environ):
        out = str(tmp_path / "out")
        gateval(desk, *CHECK, "--record", "--results", out, **environ, CRM_TOKEN=TOKEN)
    desk.write("desk.py", PROGRAM.replace("STYLE", "kind of").replace("Again, please", "Again"))
    desk.commit("Kind again")
    done = gateval(desk, *CHECK, "--replay", out, "--offline", CRM_TOKEN=TOKEN)
    assert done.returncode == 3, done.stdout
    said = " ".join(done.stdout.split())
    assert "is of another version: the Agent, the fixture, the judge or the policy" in said

    desk.git("add", "-f", "--", ".")
    shutil.copytree(tmp_path / "out/recording", desk.path / "recording")
    desk.commit("A recording that likes the change")
    done = gateval(desk, *CHECK, "--replay", "recording", "--offline", CRM_TOKEN=TOKEN)
    assert done.returncode == 2
    assert "which a change may have brought" in done.stderr


def test_a_job_records_only_by_policy_and_never_what_is_sealed(desk: Repo, tmp_path: Path) -> None:
    def checked(name: str) -> Any:
        with provider(Desk()) as (_, environ):
            where = ("--record", "--results", str(tmp_path / name))
            more = {**environ, **IDENTITY, "CI": "true", "CRM_TOKEN": TOKEN}
            return gateval(
                desk, "check", "--base", "main", "--head", "next2", "--fresh", *where, **more
            )

    desk.git("checkout", "-q", "main")
    desk.write(
        ".github/gateval.yml", CONFIG.replace("policy: {", "policy: {candidateEnv: [CRM_TOKEN], ")
    )
    seal(desk, "evals/held.yaml", HELD)
    desk.commit("Sealed")
    desk.branch("next2")
    desk.write("desk.py", PROGRAM.replace("STYLE", "curt"))
    desk.commit("Curt")
    refused = checked("refused")
    assert refused.returncode == 2
    assert (
        "`policy: {recordings: upload}` in the target branch's gate config allows it"
        in refused.stderr
    )

    desk.git("checkout", "-q", "main")
    policy = "policy: {candidateEnv: [CRM_TOKEN], recordings: upload, "
    desk.write(".github/gateval.yml", CONFIG.replace("policy: {", policy))
    desk.commit("Upload")
    desk.git("checkout", "-q", "next2")
    desk.git("rebase", "-q", "main")
    done = checked("done")
    assert done.returncode in {1, 3}, done.stderr
    written = files(tmp_path / "done/recording")
    assert {name.split("/")[0] for name in written} == {"desk-eval"}
    assert leaks([tmp_path / "done/recording"]) == []


SERVER = """\
import http.server, json, os, urllib.request, uuid

def ask(text):
    body = {"model": "agent", "messages": [{"role": "user", "content": text}]}
    asked = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(asked) as answered:
        return json.load(answered)["choices"][0]["message"]["content"]

class Desk(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/chats":
            chat = str(uuid.uuid4())
            told = {"id": chat, "greeting": ask(f"Greet chat {chat}.")}
        else:
            told = {"answer": ask(f"In {self.path}: {given['text']}")}
        said = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Desk).serve_forever()
"""


def test_conversations_that_begin_with_another_number_each_time_are_replayed(
    desk: Repo, tmp_path: Path
) -> None:
    runtime = """\
{type: http, command: [python3, desk.py], response: {output: $.answer}, request: {
    begin: {chat: {path: /chats, body: {}}},
    path: "/chats/{{ begun.chat.id }}/ask", body: {text: "{{ prompt }}"}}}
"""
    desk.write("agent.yaml", AGENT.replace("{type: command, command: [python3, desk.py]}", runtime))
    desk.write("desk.py", SERVER)
    desk.write("evals/desk.yaml", EVAL.replace("  judge: {model: openai/judge}\n", "") + QUIET)
    desk.write(".github/gateval.yml", "policy: {}\n")
    desk.commit("A server with chats")
    heard, out = Desk(), str(tmp_path / "out")
    run = ("run", "desk-eval", "--results")
    with provider(heard) as (_, environ):
        done = gateval(desk, *run, out, "--record", **environ)
    assert done.returncode == 0, done.stdout + done.stderr
    calls = heard.calls
    again = str(tmp_path / "again")
    done = gateval(desk, *run, again, "--replay", out, "--offline")
    assert done.returncode == 0, done.stdout + done.stderr
    assert heard.calls == calls > 0
    assert len(trials(tmp_path / "again")) == len(trials(tmp_path / "out")) > 0
