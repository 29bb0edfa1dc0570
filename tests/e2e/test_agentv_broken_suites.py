"""A broken suite of AgentV keeps its own cases from being measured, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo

TARGETS = """\
targets:
  - {name: default, provider: cli, command: "python3 bot.py {PROMPT}", cwd: /bot}
  - {name: shop, provider: cli, command: "python3 shop.py {PROMPT}", cwd: /shop}
  - {name: codex, provider: codex}
"""
BOT = "import sys\nprint('You said', sys.argv[1])\n"
GOOD = """\
tests:
  - id: one
    criteria: Good
    input: Hello
    assertions: [{type: contains, value: You}]
"""
SHOP = "execution: {target: shop}\n" + GOOD
UNREADABLE = SHOP + "  - id: [\n"
REFUSED = SHOP + "    depends_on: [two]\n"
MISSING = SHOP + "    input_files: [gone.txt]\n"
FOREIGN = SHOP.replace("target: shop", "target: codex")
SPELLINGS = SHOP + "evalcases:\n  - {id: two, expected_outcome: Good, input: Hello}\n"
SLIP = SHOP.replace("execution:", "executoin:")
NEWER = "$schema: agentv-eval-v2\nexecution: {target: shop}\nprompts: [Hi]\ntests:\n  - {vars: {a: b}}\n"
pytestmark = pytest.mark.drawn("suite")

BROKEN = {
    "no YAML": UNREADABLE,
    "refused": REFUSED,
    "a missing file": MISSING,
    "two spellings": SPELLINGS,
    "a wrong evaluator": SHOP.replace("contains", "contians"),
}  # fmt: skip

NATIVE = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: native}
spec:
  models: [scripted/native]
  system: Be kind
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets}
spec:
  input: {type: prompt, payload: {text: Hello}}
  assertions: [{type: contains, value: Hi}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: native}
spec: {targetAgent: native, fixtures: [greets]}
"""


def desk(tmp_path: Path, files: Mapping[str, str]) -> Repo:
    """A repository with two programs as targets, a good suite for the first, and these files."""
    repo = Repo(tmp_path / "desk")
    base = {
        ".agentv/targets.yaml": TARGETS,
        "bot/bot.py": BOT,
        "shop/shop.py": BOT,
        "evals/bot.eval.yaml": GOOD,
    }
    for name, text in {**base, **files}.items():
        repo.write(name, text)
    repo.commit("A desk")
    return repo


def checked(repo: Repo, files: Mapping[str, str | None]) -> dict[str, Any]:
    """What `check` says of a change of these files: its exit code, decision, plan and comment."""
    for name, text in files.items():
        if text is None:
            (repo.path / name).unlink()
        else:
            repo.write(name, text)
    repo.commit("A change")
    out = repo.path.parent / f"out-{len([*repo.path.parent.iterdir()])}"
    done = gateval(repo, "check", "--base", "HEAD~1", "--results", str(out))
    told = done.stdout + done.stderr
    assert (out / "comment.md").exists(), told
    results = json.loads((out / "results.v1.json").read_text())
    return {
        "code": done.returncode,
        "printed": told,
        "comment": (out / "comment.md").read_text(),
        "plan": results["plan"],
        "ran": {one["key"]["eval"] for one in results["trials"]},
    }


@pytest.mark.parametrize("suite", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_suite_beside_a_good_one_of_another_agent(suite: str, tmp_path: Path) -> None:
    repo = desk(tmp_path, {"evals/shop.eval.yaml": suite})
    found = checked(repo, {"bot/bot.py": BOT + "\n"})
    assert found["code"] == 0, found["printed"]
    assert found["ran"] == {"evals.bot"}
    assert "evals/shop.eval.yaml" in found["comment"]
    found = checked(repo, {"bot/bot.py": "print('Nothing')\n"})
    assert found["code"] == 1, found["printed"]


@pytest.mark.parametrize("suite", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_suite_of_the_changed_agent(suite: str, tmp_path: Path) -> None:
    repo = desk(tmp_path, {"evals/shop.eval.yaml": suite})
    found = checked(repo, {"shop/shop.py": "print('Nothing')\n"})
    assert found["code"] == 3, found["printed"]
    assert "evals/shop.eval.yaml" in found["comment"]
    assert "target branch" not in found["comment"]


@pytest.mark.drawn("program")
@pytest.mark.parametrize("suite", BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("program", [BOT, BOT + "\n", "print('Nothing')\n"])
def test_a_change_that_breaks_the_suite_of_an_agent(
    suite: str, program: str, tmp_path: Path
) -> None:
    repo = desk(tmp_path, {"evals/shop.eval.yaml": SHOP})
    found = checked(repo, {"evals/shop.eval.yaml": suite, "shop/shop.py": program})
    assert found["code"] in {1, 3}, found["printed"]
    assert found["code"] == 3 or program.startswith("print"), found["printed"]
    assert "evals/shop.eval.yaml" in found["comment"]
    assert "removed" not in found["comment"]


@pytest.mark.parametrize("suite", BROKEN.values(), ids=BROKEN.keys())
def test_a_change_that_adds_a_broken_suite_or_edits_one(suite: str, tmp_path: Path) -> None:
    repo = desk(tmp_path, {})
    assert checked(repo, {"evals/shop.eval.yaml": suite})["code"] == 3
    found = checked(repo, {"evals/shop.eval.yaml": "# Again\n" + suite, "bot/bot.py": BOT + "\n"})
    assert found["code"] == 3, found["printed"]
    assert found["ran"] == {"evals.bot"}
    assert gateval(repo, "validate").returncode == 2


@pytest.mark.parametrize("suite", BROKEN.values(), ids=BROKEN.keys())
def test_a_change_of_nothing_that_belongs_to_a_broken_suite(suite: str, tmp_path: Path) -> None:
    repo = desk(tmp_path, {"evals/shop.eval.yaml": suite})
    repo.write("README.md", "A desk\n")
    repo.commit("Words")
    done = gateval(repo, "check", "--base", "HEAD~1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "evals/shop.eval.yaml" in done.stdout
    assert gateval(repo, "validate").returncode == 2


def test_a_suite_for_what_the_gate_does_not_start(tmp_path: Path) -> None:
    repo = desk(tmp_path, {"evals/codex.eval.yaml": FOREIGN})
    found = checked(repo, {"bot/bot.py": BOT + "\n"})
    assert found["code"] == 0, found["printed"]
    assert "The gate does not start" in found["comment"]
    assert checked(repo, {"evals/codex.eval.yaml": FOREIGN + "\n"})["code"] == 3


@pytest.mark.parametrize("key", ["executoin", "execution"])
def test_a_target_that_nobody_can_tell_may_be_any(key: str, tmp_path: Path) -> None:
    suite = SHOP.replace("execution:", f"{key}:").replace("shop", "shpo")
    repo = desk(tmp_path, {"evals/shop.eval.yaml": suite})
    assert checked(repo, {"shop/shop.py": BOT + "\n"})["code"] == 3
    assert checked(repo, {"README.md": "A desk\n", "notes.md": "x"})["code"] == 0


@pytest.mark.parametrize("path", ["shop/shop.py", ".agentv/targets.yaml"])
def test_a_target_that_cannot_be_used(path: str, tmp_path: Path) -> None:
    wrong = TARGETS.replace("shop.py {PROMPT}", "shop.py {PROMTP}")
    repo = desk(tmp_path, {"evals/shop.eval.yaml": SHOP, ".agentv/targets.yaml": wrong})
    text = (
        BOT + "\n" if path == "shop/shop.py" else wrong.replace("python3 shop", "python3 -s shop")
    )
    found = checked(repo, {path: text})
    assert found["code"] == 3, found["printed"]
    assert "PROMTP" in found["comment"]


@pytest.mark.parametrize("text", [None, "targets: [", TARGETS.replace("name: shop", "name: shpo")])
def test_a_change_that_breaks_the_targets(text: str | None, tmp_path: Path) -> None:
    repo = desk(tmp_path, {"evals/shop.eval.yaml": SHOP})
    found = checked(repo, {".agentv/targets.yaml": text, "shop/shop.py": BOT + "\n"})
    assert found["code"] in {1, 3}, found["printed"]
    assert "evals/shop.eval.yaml" in found["comment"]


def test_targets_that_are_broken_on_both_sides(tmp_path: Path) -> None:
    repo = desk(tmp_path, {".agentv/targets.yaml": "targets: ["})
    assert checked(repo, {"shop/shop.py": BOT + "\n"})["code"] == 3


@pytest.mark.parametrize("suite", BROKEN.values(), ids=BROKEN.keys())
def test_native_evals_beside_a_broken_suite(suite: str, tmp_path: Path) -> None:
    script = "rules:\n  - {reply: Hi}\n"
    files = {"native.yaml": NATIVE, ".gateval/scripted/native.yaml": script}
    repo = desk(tmp_path, {**files, "evals/shop.eval.yaml": suite})
    found = checked(repo, {"native.yaml": NATIVE.replace("Be kind", "Be brief")})
    assert found["code"] == 0, found["printed"]
    assert found["ran"] == {"native"}
    done = gateval(repo, "run", "native")
    assert done.returncode == 0, done.stdout + done.stderr
    done = gateval(repo, "run", "evals.shop")
    assert done.returncode in {2, 3}, done.stdout + done.stderr
    assert "evals/shop.eval.yaml" in done.stdout + done.stderr
    done = gateval(repo, "validate")
    assert done.returncode == 2


def test_a_native_eval_of_an_agent_whose_suite_is_broken(tmp_path: Path) -> None:
    native = NATIVE.split("---\n", 1)[1].replace("targetAgent: native", "targetAgent: shop.in-shop")
    native = native.replace("value: Hi", "value: You")
    repo = desk(tmp_path, {"evals/shop.eval.yaml": REFUSED, "native.yaml": native})
    found = checked(repo, {"shop/shop.py": BOT + "\n"})
    assert found["code"] == 3, found["printed"]
    assert found["ran"] == {"native"}


@pytest.mark.parametrize("other", ["shop.eval.yml", "shop.yaml", "shop.eval.jsonl"])
def test_two_suites_of_one_name_beside_each_other(other: str, tmp_path: Path) -> None:
    line = '{"id": "two", "criteria": "Good", "input": "Hello", "execution": {"target": "shop"}, "assertions": [{"type": "contains", "value": "You"}]}\n'
    text = line if other.endswith("jsonl") else SHOP.replace("id: one", "id: two")
    repo = desk(tmp_path, {"evals/shop.eval.yaml": SHOP, f"evals/{other}": text})
    found = checked(repo, {"bot/bot.py": BOT + "\n"})
    assert found["code"] == 0, found["printed"]
    assert found["ran"] == {"evals.bot"}
    assert f"evals/{other}" in found["comment"]
    found = checked(repo, {"shop/shop.py": BOT + "\n"})
    assert found["code"] == 3, found["printed"]
    assert "evals/shop.eval.yaml" in found["comment"]
    found = checked(repo, {f"evals/{other}": None})
    assert found["code"] in {0, 3}, found["printed"]
    assert gateval(repo, "validate").returncode == 0


def test_a_change_that_adds_a_second_spelling(tmp_path: Path) -> None:
    repo = desk(tmp_path, {"evals/shop.eval.yaml": SHOP})
    found = checked(repo, {"evals/shop.eval.yml": SHOP, "shop/shop.py": "print('Nothing')\n"})
    assert found["code"] in {1, 3}, found["printed"]
    assert checked(repo, {"evals/bot.eval.yml": GOOD})["code"] == 3


def test_a_suite_that_is_mended_is_measured(tmp_path: Path) -> None:
    repo = desk(tmp_path, {"evals/shop.eval.yaml": REFUSED})
    found = checked(repo, {"evals/shop.eval.yaml": SHOP})
    assert found["ran"] == {"evals.shop"}
    assert found["code"] in {0, 3}, found["printed"]


TWO = SHOP + GOOD.partition("\n")[2].replace("id: one", "id: two")


def test_a_broken_case_keeps_a_run_of_its_suite_from_being_green(tmp_path: Path) -> None:
    repo = desk(tmp_path, {"evals/shop.eval.yaml": TWO + "    depends_on: [one]\n"})
    done = gateval(repo, "run", "evals.shop")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "evals/shop.eval.yaml:11" in done.stdout
    assert gateval(repo, "run", "evals.bot").returncode == 0
    found = checked(repo, {"shop/shop.py": BOT + "\n"})
    assert found["code"] == 3, found["printed"]
    assert found["ran"] == {"evals.shop"}
    found = checked(repo, {"shop/shop.py": "print('Nothing')\n"})
    assert found["code"] == 1, found["printed"]


def test_nobody_can_accept_a_suite_that_the_change_breaks(tmp_path: Path) -> None:
    repo = desk(tmp_path, {"evals/shop.eval.yaml": SHOP})
    repo.write("evals/shop.eval.yaml", UNREADABLE)
    repo.commit("A change")
    done = gateval(repo, "check", "--base", "HEAD~1", "--accept-bar-change")
    assert done.returncode == 3, done.stdout + done.stderr


@pytest.mark.parametrize("suite", ["tests: ./cases.jsonl\n", "name: x\ndataset: y\n"])
def test_import_tells_of_lines_that_go_on_being_read(suite: str, tmp_path: Path) -> None:
    line = '{"id": "two", "criteria": "Good", "input": "Hello", "assertions": [{"type": "contains", "value": "You"}]}\n'
    repo = desk(tmp_path, {"evals/cases.eval.yaml": suite, "evals/cases.jsonl": line})
    done = gateval(repo, "import", "agentv", "evals/cases.eval.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Remove evals/cases.jsonl with it" in done.stdout
    done = gateval(repo, "import", "agentv", "evals/bot.eval.yaml")
    assert "Remove" not in done.stdout
