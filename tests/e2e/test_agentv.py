"""A repository with AgentV's files, as it is: planned, run, compared, and beside native manifests."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.helpers.command import ROOT, gateval
from tests.helpers.repo import Repo

EXAMPLE = ROOT / "examples" / "agentv"


@pytest.fixture
def desk(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "desk")
    ignore = shutil.ignore_patterns("__pycache__", "results")
    shutil.copytree(EXAMPLE, repo.path, dirs_exist_ok=True, ignore=ignore)
    repo.commit("The desk")
    return repo


def edit(repo: Repo, path: str, before: str, after: str) -> None:
    text = (repo.path / path).read_text("utf-8")
    assert before in text
    repo.write(path, text.replace(before, after))
    repo.commit(f"Edit {path}")


def plan(repo: Repo) -> dict[str, Any]:
    done = gateval(repo, "plan", "--base", "HEAD~1", "--json")
    assert done.returncode == 0, done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def selected(made: dict[str, Any]) -> dict[str, list[str]]:
    """The planned Evals, each with why."""
    return {
        one["name"]: [f"{why['where']} {why['what']}" for why in one["why"]]
        for one in made["evals"]
        if one["bar"] is None
    }


def test_the_example_is_valid_and_passes(desk: Repo) -> None:
    done = gateval(desk, "validate")
    assert done.stdout == "1 Agent, 2 Evals, 5 fixtures, 0 calibrations: valid.\n"
    done = gateval(desk, "run", "evals.refunds", "evals.parcels")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5/5 trials: 5 pass" in done.stderr
    shown = gateval(desk, "show", "evals.refunds-by-the-policy").stdout
    assert "we refund all of it" in shown
    assert "evals/refunds.yaml:" in shown


@pytest.mark.parametrize(
    ("path", "before", "after", "evals", "why"),
    [
        ("desk/desk.py", "How can", "What can", {"evals.refunds", "evals.parcels"}, "Agent"),
        (".agentv/targets.yaml", "--file {path}", "--file={path}", {"evals.refunds", "evals.parcels"}, "Agent"),
        ("docs/policy.md", "14 days", "21 days", {"evals.refunds"}, "by-the-policy changed"),
        ("evals/judges/tone.md", "kind", "very kind", {"evals.refunds"}, "by-the-policy changed"),
        ("evals/checks/days.py", "float", "1.0 * float", {"evals.refunds"}, "by-the-policy changed"),
        ("evals/refunds.yaml", "Good morning!", "Good evening!", {"evals.refunds"}, "greeting changed"),
        ("evals/parcels.jsonl", "And P-1002?", "Where is P-1002?", {"evals.parcels"}, "sorting changed"),
        ("evals/parcels.yaml", "in_order", "exact", {"evals.parcels"}, "lyon changed"),
        ("README.md", "Nothing", "No file", set(), ""),
    ],
)  # fmt: skip
def test_a_change_selects_what_depends_on_it(
    path: str, before: str, after: str, evals: set[str], why: str, desk: Repo
) -> None:
    edit(desk, path, before, after)
    made = plan(desk)
    found = selected(made)
    assert found.keys() == evals
    assert all(any(why in reason for reason in reasons) for reasons in found.values()), found


def test_a_nearer_file_takes_the_place_of_one_around(desk: Repo) -> None:
    edit(desk, "evals/refunds.yaml", "value: /docs/policy.md", "value: docs/policy.md")
    desk.write("evals/docs/policy.md", "Everything can be returned within 14 days, they say.\n")
    desk.commit("A policy of its own")
    assert selected(plan(desk)).keys() == {"evals.refunds"}
    desk.delete("evals/docs/policy.md")
    desk.commit("And none again")
    assert selected(plan(desk)).keys() == {"evals.refunds"}


def test_a_change_cannot_lower_its_own_bar(desk: Repo) -> None:
    edit(desk, "evals/parcels.jsonl", '{"id": "lyon"', '{"id": "rome"')
    edit(desk, "evals/refunds.yaml", "required: true", "required: false")
    done = gateval(desk, "check", "--base", "HEAD~2")
    assert done.returncode == 0, done.stdout
    assert "The bar moves, and head meets it" in done.stdout
    assert "medium fixture evals.parcels-lyon removed" in done.stdout
    assert "of fixture evals.refunds-greeting changed" in done.stdout
    edit(desk, "desk/desk.py", "in Lyon", "in Rome")
    edit(desk, "desk/desk.py", "if number:", "if number and number[0] != 'P-1001':")
    edit(desk, "evals/parcels.jsonl", '{"id": "rome", ', '{"id": "rome", "evaluators": [], ')
    done = gateval(desk, "check", "--base", "HEAD~5")
    assert done.returncode == 1, done.stdout
    assert "evals.parcels-lyon" in done.stdout


def test_a_worse_agent_is_caught(desk: Repo) -> None:
    edit(desk, "desk/desk.py", "find_parcel", "guess_parcel")
    done = gateval(desk, "check", "--base", "HEAD~1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "evals.parcels" in done.stdout
    assert "evals.parcels-lyon" in done.stdout


def test_a_candidate_sees_its_own_files_and_nothing_of_what_is_asked(desk: Repo) -> None:
    look = "import os\nseen = [os.path.join(a, f) for a, _, fs in os.walk('..') for f in fs]\n"
    edit(desk, "desk/desk.py", "import argparse\n", f"import argparse\n{look}")
    edit(desk, "desk/desk.py", '"Hello! How can I help you?"', "' '.join(sorted(seen))")
    gateval(desk, "run", "evals.refunds", "--fixture", "evals.refunds-greeting")
    shown = gateval(desk, "show", "evals.refunds-greeting").stdout
    assert "../desk/desk.py" in shown
    assert "../" not in shown.replace("../desk/desk.py", "", 1)


def test_beside_native_manifests(desk: Repo) -> None:
    desk.write(
        "native.yaml",
        "apiVersion: gateval/v1\nkind: EvalFixture\nmetadata: {name: hours}\n"
        "spec:\n  input: {type: prompt, payload: {prompt: Hi}}\n"
        "  assertions: [{type: contains, value: Hello}]\n---\n"
        "apiVersion: gateval/v1\nkind: Eval\nmetadata: {name: hours-eval}\n"
        "spec: {targetAgent: desk.in-desk, fixtures: [hours, evals.refunds-greeting],\n"
        "  judge: {model: scripted/judge}}\n",
    )
    desk.commit("A native Eval of the same Agent")
    assert gateval(desk, "validate").stdout == (
        "1 Agent, 3 Evals, 6 fixtures, 0 calibrations: valid.\n"
    )
    edit(desk, "desk/desk.py", "How can", "What can")
    assert selected(plan(desk)).keys() == {"evals.parcels", "evals.refunds", "hours-eval"}
    done = gateval(desk, "check", "--base", "HEAD~1", "--results", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    suites = ET.parse(desk.path / "out" / "junit.xml").getroot().iter("testsuite")  # noqa: S314 - our own
    assert {"evals.parcels", "evals.refunds", "hours-eval"} <= {one.get("name") for one in suites}
    assert "evals.refunds" in (desk.path / "out" / "comment.md").read_text("utf-8")


def test_a_run_is_promoted_to_a_native_fixture(desk: Repo) -> None:
    done = gateval(desk, "run", "evals.parcels", "--results", "out")
    assert done.returncode == 0, done.stderr
    done = gateval(desk, "promote", "out", "--fixture", "evals.parcels-lyon", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "targetAgent: desk.in-desk" in done.stdout
    assert "tool: find_parcel" in done.stdout
    found = gateval(desk, "get", "evals").stdout
    assert "evals.parcels" in found


ASKING = """\
import json, os, sys, urllib.request
body = {"model": "talker", "messages": [{"role": "user", "content": sys.argv[1]}]}
request = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps(body).encode(),
    {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
)
answer = json.load(urllib.request.urlopen(request))
print(answer["choices"][0]["message"]["content"])
"""


def test_a_command_line_reaches_its_model_through_the_gate(desk: Repo) -> None:
    desk.write("talk/talk.py", ASKING)
    desk.write(".gateval/scripted/talker.yaml", "rules: [{reply: Nice to meet you.}]\n")
    desk.write(
        "talk/targets.yaml",
        "targets:\n  - name: talker\n    provider: cli\n    command: python3 talk.py {PROMPT}\n"
        "    gateval: {models: [scripted/talker]}\n",
    )
    desk.write(
        "talk/hello.eval.yaml",
        "execution: {target: talker}\ntests:\n  - id: hello\n    criteria: Greets\n"
        "    input: Hello\n    assertions:\n      - {type: contains, value: Nice}\n"
        "      - {type: execution-metrics, max_llm_calls: 1}\n",
    )
    desk.commit("An agent that asks a model")
    done = gateval(desk, "run", "talk.hello")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "claimed by the candidate" not in done.stdout, "the gate saw it itself"
    edit(desk, ".gateval/scripted/talker.yaml", "Nice to", "How nice to")
    assert selected(plan(desk)).keys() == {"talk.hello"}


def test_a_foreign_name_is_taken_once(desk: Repo) -> None:
    desk.write(
        "native.yaml",
        "apiVersion: gateval/v1\nkind: Agent\nmetadata: {name: desk.in-desk}\n"
        "spec: {models: [scripted/judge]}\n",
    )
    done = gateval(desk, "validate")
    assert done.returncode == 2
    assert 'The Agent "desk.in-desk" stands at' in done.stdout
