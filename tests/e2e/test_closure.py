"""The closure is what a candidate can see: what is not declared fails on its first day.

Each attack is a way to reach a tracked file beside the Agent's own. All of them were green on the
day such a file broke.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.tiers import some_always

CHECKS = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: price, labels: {agent: desk}}
spec:
  input: {type: prompt, payload: {prompt: How much?}}
  assertions: [{type: contains, value: 9 EUR}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {agent: desk}}
"""
MONEY = "def show():\n    return '9 EUR'\n"
IMPORTS = "from money import show\nprint(show())\n"
READS = "print(open(path).read())\n"
FINDS = """\
import pathlib, sys
for folder in pathlib.Path.cwd().parents:
    if (folder / "uv.lock").exists():
        print((folder / "uv.lock").read_text())
        sys.exit()
sys.exit("uv.lock was not found in any folder above")
"""

AGENT_PY, LIB, RULES = "agent.py", "lib/money.py", "rules.txt"
ATTACKS = {
    "sys.path": (
        "command: [python3, agent.py]",
        f"import sys\nsys.path.insert(0, '../../lib')\n{IMPORTS}",
        LIB,
        "/lib/**",
    ),
    "PYTHONPATH": (
        "command: [python3, agent.py]\n    env: {PYTHONPATH: ../../lib}",
        IMPORTS,
        LIB,
        "/lib/**",
    ),
    "a shell": (
        'command: [sh, -c, "exec python3 ../../lib/money.py"]',
        "",
        LIB,
        "/lib/**",
    ),
    "-r": (
        "command: [python3, agent.py, -r../../rules.txt]",
        f"import sys\npath = sys.argv[1][2:]\n{READS}",
        RULES,
        "/rules.txt",
    ),
    "@": (
        'command: [python3, agent.py, "@../../rules.txt"]',
        f"import sys\npath = sys.argv[1][1:]\n{READS}",
        RULES,
        "/rules.txt",
    ),
    "a folder around": (
        "command: [python3, agent.py, ../..]",
        f"import sys\npath = sys.argv[1] + '/rules.txt'\n{READS}",
        RULES,
        "/rules.txt",
    ),
    "a lock file": ("command: [python3, agent.py]", FINDS, "uv.lock", "/uv.lock"),
    "a project file searched upward": (
        "command: [python3, agent.py]",
        FINDS.replace(
            "uv.lock was not found in any folder above", "No `uv.lock` found in any parent"
        ),
        "uv.lock",
        "/uv.lock",
    ),
    "python -c": (
        "command: [python3, -c, \"import sys; sys.path.append('../../lib'); import money as m; print(m.show())\"]",
        "",
        LIB,
        "/lib/**",
    ),
}


def agent(runtime: str, include: str = "") -> str:
    declared = f"  include: [{include}]\n" if include else ""
    return (
        "apiVersion: gateval/v1\nkind: Agent\nmetadata: {name: desk}\nspec:\n"
        f"{declared}  runtime:\n    type: command\n    {runtime}\n"
    )


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("README.md", "Desks.\n")
    repo.commit("Begin")
    repo.branch("change")
    return repo


@pytest.mark.parametrize("case", some_always(ATTACKS, 3))
def test_what_is_not_declared_fails_on_its_first_day(repo: Repo, case: str) -> None:
    runtime, program, file, pattern = ATTACKS[case]
    good = f"{MONEY}print(show())\n" if case == "a shell" else MONEY if file == LIB else "9 EUR\n"
    repo.write("bots/desk/agent.yaml", agent(runtime))
    repo.write("bots/desk/checks.yaml", CHECKS)
    repo.write(f"bots/desk/{AGENT_PY}", program)
    repo.write(file, good)
    repo.commit("Add the desk")
    first = gateval(repo, "check", "--base", "main")
    shown = "../.." in runtime  # which is refused before anything is started
    assert first.returncode in ({2} if shown else {1, 3}), first.stdout
    assert ("is not among the files of Agent desk" in first.stderr) is shown
    first = gateval(repo, "run", "desk-eval", "--results", str(repo.path.parent / "first"))
    assert first.returncode in {1, 3}, first.stdout
    said = (
        f"{file} is in the repository but not among the files of Agent desk; "
        f"add `{pattern}` to spec.include."
    )
    results = json.loads((repo.path.parent / "first/results.v1.json").read_text())
    reasons = [trial["reason"] for trial in results["trials"]]
    assert reasons
    assert all(reason.endswith(said) for reason in reasons), reasons

    repo.write("bots/desk/agent.yaml", agent(runtime, pattern))
    repo.commit("Declare it")
    repo.branch("next")
    repo.write(file, good.replace("9 EUR", "7 EUR"))
    repo.commit("Spoil it")
    second = gateval(repo, "check", "--base", "change")
    assert second.returncode == 1, second.stdout + second.stderr
    assert "Nothing to evaluate" not in second.stdout


MISSES = """\
import pathlib, sys
wanted = sys.argv[1] if len(sys.argv) > 1 else "uv.lock"
sys.exit("\\n".join(f"error: No `{one}` found in any parent directory" for one in wanted.split("+")))
"""
SERVES_NOTHING = "http\n    ready: {path: /}\n    request: {path: /}"


@pytest.mark.parametrize("kind", ["command", "http"])
def test_all_that_was_missed_is_named_once_for_each_side_as_a_hint(repo: Repo, kind: str) -> None:
    start = {"command": "command", "http": SERVES_NOTHING}[kind]
    said = agent("command: [python3, agent.py, WANTED]").replace("type: command", f"type: {start}")
    for name in ("uv.lock", "Gemfile", "rules.txt", "a*@me*.txt"):
        repo.write(name, "9 EUR\n")
    repo.write(LIB, MONEY)
    repo.write("bots/desk/agent.yaml", said.replace("WANTED", "uv.lock"))
    repo.write("bots/desk/checks.yaml", f"{CHECKS}  execution: {{repsPerFixture: 3}}\n")
    repo.write(f"bots/desk/{AGENT_PY}", MISSES)
    repo.commit("Add the desk")
    repo.branch("next")
    wanted = "uv.lock+money.py+money.txt+Gemfile+/etc/passwd+agent.py+a*@me*.txt"
    repo.write("bots/desk/agent.yaml", said.replace("WANTED", wanted))
    repo.commit("Look for more")
    done = gateval(repo, "check", "--base", "change", "--results", str(repo.path.parent / "out"))
    assert done.returncode == 3, done.stdout + done.stderr
    on_base = "desk (base): runs without an answer seem to have looked for a file of the repository"
    on_head = (
        "desk (head): runs without an answer seem to have looked for 4 files of the repository "
        "that the Agent does not get: Gemfile, a*@me*.txt, lib/money.py, uv.lock. This is a hint "
        "and decides nothing; if it needs them, add `/Gemfile`, `/a*@me*.txt`, `/lib/**`, "
        "`/uv.lock` to spec.include."
    )
    results = json.loads((repo.path.parent / "out/results.v1.json").read_text())
    warnings = results["info"]["warnings"]
    assert [one for one in warnings if "looked for" in one] == [warnings[0], on_head]
    assert warnings[0].startswith(on_base)
    shown = " ".join(done.stdout.split())
    assert (shown.count(on_base), shown.count(on_head)) == (1, 1)
    comment = (repo.path.parent / "out/comment.md").read_text()
    assert comment.count("runs without an answer seem to have looked for") == 2
    assert "Gemfile, a&#42;@\u200bme&#42;.txt, lib/money.py, uv.lock" in comment


def test_where_nothing_fits_the_plain_hint_is_told_once(repo: Repo) -> None:
    repo.write("bots/desk/agent.yaml", agent("command: [python3, agent.py]"))
    repo.write(
        "bots/desk/checks.yaml",
        CHECKS.replace("targetAgent: desk", "targetAgent: desk\n  execution: {repsPerFixture: 3}"),
    )
    repo.write("bots/desk/agent.py", "raise SystemExit('no idea')\n")
    repo.commit()
    done = gateval(repo, "run", "desk-eval")
    assert done.returncode in {1, 3}, done.stdout
    hint = "A candidate of Agent desk gets its 1 file and nothing else of the repository"
    assert (done.stdout + done.stderr).count(hint) == 1


def test_the_files_of_an_agent_are_listed_with_sizes_and_why(repo: Repo) -> None:
    repo.write(
        "bots/desk/agent.yaml", agent("command: [python3, agent.py, ../words.txt]", "/lib/**")
    )
    repo.write("bots/desk/checks.yaml", CHECKS)
    repo.write("bots/desk/agent.py", "print(1)\n")
    repo.write("bots/words.txt", "Hi\n")
    repo.write(LIB, MONEY)
    repo.commit()
    done = gateval(repo, "closure", "desk")
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["9", "bots/desk/agent.py", "(command", "agent.py)"],
        ["3", "bots/words.txt", "(command", "../words.txt)"],
        [str(len(MONEY)), LIB, "(include", "/lib/**)"],
        ["3", "files,", f"{12 + len(MONEY)}", "B:", "all", "that", "desk", "gets."],
    ]
    listed = json.loads(gateval(repo, "closure", "desk", "--json").stdout)
    assert (listed["version"], listed["agent"], listed["cwd"]) == (
        "closure.v1",
        "desk",
        "bots/desk",
    )
    assert listed["files"][1] == {
        "path": "bots/words.txt", "kind": "file", "bytes": 3, "why": "command ../words.txt",
    }  # fmt: skip
    unknown = gateval(repo, "closure", "dsk")
    assert unknown.returncode == 2
    assert 'Did you mean "desk"?' in unknown.stderr


def test_a_watch_without_the_program_is_refused(repo: Repo) -> None:
    manifest = agent("command: [python3, agent.py]").replace(
        "spec:\n", "spec:\n  watch: [lib/**]\n"
    )
    repo.write("bots/desk/agent.yaml", manifest)
    repo.write("bots/desk/agent.py", "print(1)\n")
    repo.write("bots/desk/lib/x.py", "x = 1\n")
    repo.commit()
    done = gateval(repo, "validate")
    assert done.returncode == 2, done.stdout
    assert (
        '"agent.py" of runtime.command is bots/desk/agent.py, which `watch` leaves out'
        in done.stdout
    )


@pytest.mark.parametrize(
    ("beside", "key"),
    [
        ("before: [sh, ops/reset.sh]", "before"),
        ("services: [{name: db, command: [sh, ops/reset.sh]}]", "services[0].command"),
    ],
)
def test_a_watch_without_what_runs_beside_is_refused(repo: Repo, beside: str, key: str) -> None:
    manifest = agent(f"command: [python3, agent.py]\n    {beside}").replace(
        "spec:\n", "spec:\n  watch: [agent.py]\n"
    )
    repo.write("bots/desk/agent.yaml", manifest)
    repo.write("bots/desk/agent.py", "print(1)\n")
    repo.write("bots/desk/ops/reset.sh", "true\n")
    repo.commit()
    done = gateval(repo, "validate")
    assert done.returncode == 2, done.stdout
    told = f'"ops/reset.sh" of runtime.{key} is bots/desk/ops/reset.sh, which `watch` leaves out'
    assert told in done.stdout


def test_what_is_included_and_not_there_is_an_error(repo: Repo) -> None:
    repo.write("bots/desk/agent.yaml", agent("command: [python3, agent.py]", "/libs/**"))
    repo.write("bots/desk/agent.py", "print(1)\n")
    repo.write(LIB, MONEY)
    repo.commit()
    done = gateval(repo, "validate")
    assert done.returncode == 2, done.stdout
    assert '"/libs/**" fits no tracked file of this revision.' in done.stdout
