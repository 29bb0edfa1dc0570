"""Tools of programs on the real command: answered from fixtures, recorded, and shown harmlessly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from examples.demo import EXAMPLES
from tests.helpers import stored
from tests.helpers.command import gateval
from tests.helpers.repo import Repo

EVIL = "x</code><script>alert(1)</script>\n::error::gone @team [a](http://evil.example)\x1b[31m"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    shutil.copytree(EXAMPLES / "beside" / "courier", repo.path / "courier")
    repo.commit()
    return repo


def test_the_sample_passes_and_its_calls_are_recorded(repo: Repo, tmp_path: Path) -> None:
    done = gateval(repo, "run", "courier-desk-eval", "--results", str(tmp_path / "out"))
    assert done.returncode == 0, done.stdout + done.stderr
    trials = json.loads((tmp_path / "out" / "results.v1.json").read_text())["trials"]
    assert len(trials) == 3
    for trial in trials:
        assert trial["trace"]["source"] == "gateway"
        kinds = [(step["kind"], step["tool"]) for step in trial["trace"]["steps"]]
        assert kinds == [
            ("tool_call", "find_courier"), ("tool_result", "find_courier"), ("assistant", None),
        ]  # fmt: skip


def test_head_and_base_are_answered_alike(repo: Repo, tmp_path: Path) -> None:
    """Head asks for another parcel than it is asked about: that is a regression."""
    repo.branch("change")
    program = (repo.path / "courier" / "courier_desk.py").read_text()
    repo.write(
        "courier/courier_desk.py", program.replace('{"parcel": parcel}', '{"parcel": "P-1"}')
    )
    repo.commit()
    done = gateval(repo, "check", "--base", "main", "--results", str(tmp_path / "out"))
    assert done.returncode == 1, done.stdout + done.stderr
    trials = json.loads((tmp_path / "out" / "results.v1.json").read_text())["trials"]
    found = {
        (one["key"]["side"], one["outcome"])
        for one in trials
        if one["key"]["fixture"] == "courier-found"
    }
    assert found == {("base", "pass"), ("head", "fail")}


def test_a_name_that_would_escape_is_harmless_in_every_view(repo: Repo, tmp_path: Path) -> None:
    """Attack: the candidate calls a tool by a name made for logs, pages and comments."""
    program = (repo.path / "courier" / "courier_desk.py").read_text()
    call = f'    params = {{"name": {EVIL!r}, "arguments": {{{EVIL!r}: 1}}}}'
    first = '    params = {"name": "find_courier", "arguments": {"parcel": parcel}}'
    assert first in program
    repo.write(
        "courier/courier_desk.py",
        program.replace(first, call).replace('["result"]', '.get("result")'),
    )
    repo.commit()
    done = gateval(repo, "run", "courier-desk-eval", "--results", str(tmp_path / "out"))
    assert done.returncode != 0
    shown = {"terminal": done.stdout + done.stderr}
    shown |= stored.written(tmp_path / "out")
    shown.pop("trials.jsonl")
    results = json.loads(shown.pop("results.v1.json"))
    steps = [step for trial in results["trials"] for step in trial["trace"]["steps"]]
    assert {step["refused"] for step in steps if step["kind"] == "tool_call"} == {True}
    assert {"comment.md", "junit.xml"} <= shown.keys(), shown.keys()
    for name, text in shown.items():
        assert "<script>" not in text, name
        assert "\n::error::" not in text, name
        assert "\x1b[31m" not in text, name
        assert "](http://evil.example)" not in text, name


ASKS = """
def ask_a_model(question: str) -> None:
    body = {"model": "scripted/desk", "messages": [{"role": "user", "content": question}]}
    head = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), head)
    urllib.request.urlopen(request).read()

ask_a_model("Who?")
"""


def test_a_call_of_a_tool_is_no_cover_for_models_that_left_the_gates_sight(
    repo: Repo, tmp_path: Path
) -> None:
    """Attack: head calls a harmless tool, and its models where the gate does not see them."""
    program = (repo.path / "courier" / "courier_desk.py").read_text()
    fixtures = (repo.path / "courier" / "evals.yaml").read_text()
    forbidden = "    - {type: toolNotCalled, tool: refund}\n    - {type: contains, value: Ada}"
    assert fixtures.count("    - {type: contains, value: Ada}") == 1
    fixtures = fixtures.replace("    - {type: contains, value: Ada}", forbidden)
    repo.write("courier/evals.yaml", fixtures)
    repo.write("courier/courier_desk.py", program.replace("\nnumber = ", f"\n{ASKS}\nnumber = ", 1))
    manifest = (repo.path / "courier" / "agent.yaml").read_text()
    repo.write("courier/agent.yaml", manifest.replace("spec:", "spec:\n  models: [scripted/desk]"))
    repo.write(".gateval/scripted/desk.yaml", "rules: [{reply: Ada}]\n")
    repo.commit()
    repo.branch("change")
    repo.write("courier/courier_desk.py", program)
    repo.commit()
    done = gateval(repo, "check", "--base", "main", "--results", str(tmp_path / "out"))
    assert done.returncode != 0, done.stdout + done.stderr
    trials = json.loads((tmp_path / "out" / "results.v1.json").read_text())["trials"]
    found = {
        (one["key"]["side"], one["outcome"])
        for one in trials
        if one["key"]["fixture"] == "courier-found"
    }
    assert found == {("base", "pass"), ("head", "error")}
    assert "On base the gate saw the model calls itself" in " ".join(done.stdout.split())


def test_a_fixture_cannot_speak_for_a_tool_that_the_program_has_not(repo: Repo) -> None:
    manifest = (repo.path / "courier" / "agent.yaml").read_text()
    repo.write("courier/agent.yaml", manifest.replace("name: find_courier", "name: find_couriers"))
    done = gateval(repo, "validate")
    assert done.returncode == 2
    assert 'has no tool "find_courier", so the gate cannot answer for it.' in done.stdout
    assert 'Did you mean "find_couriers"?' in done.stdout
