"""Paths out of an Agent's files that its manifest shows: refused with the line that adds them.

A program that stands elsewhere in the repository could otherwise be changed without being measured.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL, FIXTURES, SCRIPT
from tests.helpers.tiers import some_always

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  models: [scripted/support]
  runtime:
    type: command
"""
TARGETS = """\
targets:
  - name: desk
    judge_target: judge
    provider: cli
    command: sh -c "python3 ../../tools/agent.py {PROMPT}"
  - {name: judge, provider: scripted, model: support}
"""
SUITE = """\
execution: {target: desk}
evalcases:
  - id: greets
    input_messages: [{role: user, content: Hello}]
    expected_outcome: greets
    expected_messages: [{role: assistant, content: Hello}]
"""

SHOWN = {
    "env -S": ("command: [env, -S, python3 ../../tools/agent.py]", "command[2]", "/tools/agent.py"),
    "a search path": (
        "command: [python3, main.py]\n    env: {PYTHONPATH: ../../lib}",
        "env.PYTHONPATH",
        "/lib/**",
    ),
    "a search path of several": (
        'command: [python3, main.py]\n    env: {PYTHONPATH: ".:vendor:../../lib"}',
        "env.PYTHONPATH",
        "/lib/**",
    ),
    "a line for a shell": (
        "command: [sh, -c, 'exec python3 ../../tools/agent.py']",
        "command[2]",
        "/tools/agent.py",
    ),
    "a line that changes its folder": (
        "command: [sh, -c, 'cd ../.. && python3 tools/agent.py']",
        "command[2]",
        "/tools/agent.py",
    ),
    "behind an option's letter": (
        "command: [node, -r../../tools/hook.js, main.js]",
        "command[1]",
        "/tools/hook.js",
    ),
    "behind an at sign": ("command: [python3, main.py, '@../../args.txt']", "command[2]", "/args.txt"),
    "a folder around it": ("command: [python3, ../..]", "command[1]", "/**"),
    "a set-up": (
        "setup: [sh, -c, pip install -r ../../requirements.txt]\n    command: [python3, main.py]",
        "setup[2]",
        "/requirements.txt",
    ),
    "a variable in a command line": (
        "command: [env, PYTHONPATH=x:../../lib, python3, main.py]",
        "command[1]",
        "/lib/**",
    ),
    "before each trial": (
        "command: [python3, main.py]\n    before: [sh, -c, exec ../../tools/agent.py]",
        "before[2]",
        "/tools/agent.py",
    ),
    "a service": (
        (
            "command: [python3, main.py]\n    services:\n      - name: db\n"
            "        command: [python3, db.py]\n        env: {SEED: ../../args.txt}"
        ),
        "services[0].env.SEED",
        "/args.txt",
    ),
}  # fmt: skip


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("agents/support/agent.yaml", AGENT + "    command: [python3, main.py]\n")
    for name in ("main.py", "main.js", "db.py", "vendor/x.py"):
        repo.write(f"agents/support/{name}", "print('Hello')\n")
    for name in ("tools/agent.py", "tools/hook.js", "lib/brain.py", "args.txt", "requirements.txt"):
        repo.write(name, "# one\n")
    repo.write("evals/fixtures.yaml", FIXTURES)
    repo.write("evals/eval.yaml", EVAL)
    repo.write(".gateval/scripted/support.yaml", SCRIPT)
    repo.commit("Begin")
    repo.branch("change")
    return repo


def shown(repo: Repo, runtime: str, include: str = "") -> None:
    text = f"{AGENT}    {runtime}\n" + (f"  include: [{include!r}]\n" if include else "")
    repo.write("agents/support/agent.yaml", text)
    repo.commit()


def place(repo: Repo, runtime: str, path: str) -> str:
    """Return `line:column` of what stands at a path below `runtime`, told by its last step."""
    lines = (repo.path / "agents/support/agent.yaml").read_text().splitlines()
    key = path.rpartition(".")[2].partition("[")[0]
    line = next(n for n, one in enumerate(lines, 1) if re.search(rf"\b{key}\b", one) and n > 7)
    return f"agents/support/agent.yaml:{line}:"


@pytest.mark.parametrize("case", SHOWN)
def test_a_path_out_of_the_closure_is_refused_with_the_line_that_adds_it(
    repo: Repo, case: str
) -> None:
    runtime, path, include = SHOWN[case]
    shown(repo, runtime)
    for done in (gateval(repo, "validate"), gateval(repo, "plan", "--base", "main")):
        said = done.stdout + done.stderr
        assert done.returncode == 2, said
        assert f"spec.runtime.{path}: " in said
        assert place(repo, runtime, path) in said
        assert f"`include: [{include}]`" in said
    shown(repo, runtime, include)
    done = gateval(repo, "validate")
    assert done.returncode == 0, done.stdout
    assert gateval(repo, "plan", "--base", "main").returncode == 0


@pytest.mark.parametrize("case", some_always(SHOWN, 4))
def test_what_the_base_has_already_is_a_warning_with_that_line(repo: Repo, case: str) -> None:
    runtime, path, include = SHOWN[case]
    repo.checkout("main")
    shown(repo, runtime)
    repo.branch("later")
    led = include.removeprefix("/").removesuffix("**")
    repo.write(f"{led}x.py" if led.endswith("/") or not led else led, "# two\n")
    repo.commit()
    for command in (["validate"], ["plan", "--base", "main"], ["check", "--base", "main"]):
        done = gateval(repo, *command)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"spec.runtime.{path}" in done.stdout
        assert f"`include: [{include}]`" in done.stdout


def test_a_change_of_something_else_is_not_bothered(repo: Repo) -> None:
    repo.checkout("main")
    shown(repo, SHOWN["env -S"][0])
    repo.branch("later")
    repo.write("README.md", "Other words.\n")
    repo.commit()
    done = gateval(repo, "check", "--base", "main")
    assert done.returncode == 0
    assert "include" not in done.stdout


def test_a_folder_that_comes_to_where_a_line_leads_is_refused(repo: Repo) -> None:
    repo.checkout("main")
    shown(repo, "command: [python3, main.py]\n    env: {PYTHONPATH: ../../plugins}")
    repo.branch("later")
    repo.write("plugins/sitecustomize.py", "# new\n")
    repo.commit()
    done = gateval(repo, "plan", "--base", "main")
    assert done.returncode == 2
    assert "`include: [/plugins/**]`" in done.stdout + done.stderr


def test_a_tool_server_of_a_declarative_agent_is_looked_at_too(repo: Repo) -> None:
    text = AGENT.partition("  runtime:")[0]
    tools = (
        "  tools:\n    - {type: mcp, name: shop, command: [sh, -c, python3 ../../tools/agent.py]}\n"
    )
    repo.write("agents/support/agent.yaml", text + tools)
    repo.commit()
    done = gateval(repo, "validate")
    assert done.returncode == 2, done.stdout
    assert "agents/support/agent.yaml:7:" in done.stdout
    assert "`include: [/tools/agent.py]`" in done.stdout


def test_a_target_of_agentv_is_looked_at_too(repo: Repo) -> None:
    repo.write("suites/desk/.agentv/targets.yaml", TARGETS)
    repo.write("suites/desk/basic.eval.yaml", SUITE)
    repo.commit()
    done = gateval(repo, "validate")
    assert done.returncode == 2, done.stdout
    assert "suites/desk/.agentv/targets.yaml:5:5" in done.stdout
    assert "`include: [/tools/agent.py]`" in done.stdout
    repo.write(
        "suites/desk/.agentv/targets.yaml",
        TARGETS.replace("    judge", "    gateval: {include: [/tools/agent.py]}\n    judge"),
    )
    repo.commit()
    done = gateval(repo, "validate")
    assert done.returncode == 0, done.stdout


def test_a_check_of_ones_own_is_looked_at_too(repo: Repo) -> None:
    spec = "{type: script, command: [sh, -c, 'PYTHONPATH=../lib exec python3 -m brain']%s}"
    asking = FIXTURES.replace("{type: contains, value: Hello}", spec)
    repo.write("evals/fixtures.yaml", asking.replace("%s", ""))
    repo.commit()
    done = gateval(repo, "validate")
    assert done.returncode == 2, done.stdout
    assert "evals/fixtures.yaml:16:" in done.stdout
    assert "`include: [/lib/**]`" in done.stdout
    repo.write("evals/fixtures.yaml", asking.replace("%s", ", include: [/lib/**]"))
    repo.commit()
    done = gateval(repo, "validate")
    assert done.returncode == 0, done.stdout


def test_every_file_of_the_repository_is_included_by_its_shortest_pattern(repo: Repo) -> None:
    shown(repo, "command: [python3, main.py]", "/**")
    done = gateval(repo, "closure", "support")
    assert "lib/brain.py" in done.stdout
