"""Set-ups side by side: layers made once, and set-ups of old that no longer break each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.repo import Repo
from tests.helpers.users import SAME_USER, Who, who

__all__ = ["who"]

WORDS = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: {name}-says, labels: {{agent: {name}}}}}
spec:
  input: {{type: prompt, payload: {{prompt: Say it}}}}
  assertions: [{{type: contains, value: "{said}"}}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {{name: {name}-eval}}
spec:
  targetAgent: {name}
  fixtureSelector: {{matchLabels: {{agent: {name}}}}}
"""
AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: {name}}}
spec:
  runtime:
    type: command
    cwd: {cwd}
    setup: {setup}
    command: [python3, agent.py]
"""
LAYER = "{run: [python3, install.py], inputs: [install.py, /uv.lock], creates: [.venv]}"
INSTALL = """\
import os, pathlib, time
found = sorted(str(path) for path in pathlib.Path("../..").rglob("*") if path.is_file())
pathlib.Path(".venv").mkdir()
pathlib.Path(".venv/seen").write_text(" ".join(found))
pathlib.Path(".venv/made").write_text(f"{os.getpid()}-{time.time_ns()}")
pathlib.Path(".venv/lock").write_text(pathlib.Path("../../uv.lock").read_text())
"""
READ = """\
import pathlib
venv = pathlib.Path(".venv")
try:
    (venv / "mine").write_text("x")
    print("WRITABLE")
except OSError:
    print("read-only")
print((venv / "lock").read_text(), (venv / "made").read_text(), (venv / "seen").read_text())
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("uv.lock", "version 1")
    return repo


def outputs(repo: Repo, who: Who) -> list[str]:
    """What each trial of `check` answered; all of them have to pass."""
    results = repo.path.parent / "results"
    done = who.run(repo, "check", "--results", str(results))
    assert done.returncode == 0, done.stdout + done.stderr
    whose = "same user as the gate" if who is SAME_USER else "own user per candidate"
    assert whose in done.stdout
    trials = json.loads((results / "results.v1.json").read_text())["trials"]
    return [trial["output"] for trial in trials]


def test_three_agents_on_two_sides_share_one_layer(repo: Repo, who: Who) -> None:
    for name in ("one", "two", "three"):
        repo.write(f"bots/{name}/agent.yaml", AGENT.format(name=name, cwd="../shared", setup=LAYER))
        repo.write(f"bots/{name}/checks.yaml", WORDS.format(name=name, said="version 1"))
    repo.write("bots/shared/agent.py", READ)
    repo.write("bots/shared/install.py", INSTALL)
    repo.commit()
    repo.branch("change")
    repo.write("bots/shared/agent.py", f"{READ}print('more')\n")
    repo.commit()
    said = outputs(repo, who)
    assert len(said) == 6
    assert not [one for one in said if "WRITABLE" in one]
    assert len({one.split("version 1 ")[1].split()[0] for one in said}) == 1, "made once"
    assert {one.split("version 1 ")[1].split(" ", 1)[1].split("\n")[0] for one in said} == {
        "../../bots/shared/install.py ../../uv.lock"
    }, "its set-up sees its inputs only"


def test_another_input_is_another_layer(repo: Repo) -> None:
    repo.write("bots/one/agent.yaml", AGENT.format(name="one", cwd=".", setup=LAYER))
    repo.write("bots/one/checks.yaml", WORDS.format(name="one", said="version"))
    repo.write("bots/one/agent.py", READ)
    repo.write("bots/one/install.py", INSTALL)
    repo.commit()
    repo.branch("change")
    repo.write("uv.lock", "version 2")
    repo.commit()
    said = outputs(repo, SAME_USER)
    assert sorted(one.split()[2] for one in said) == ["1", "2"]


def test_what_a_layer_misses_is_named(repo: Repo) -> None:
    setup = LAYER.replace(", /uv.lock", "")
    repo.write("bots/one/agent.yaml", AGENT.format(name="one", cwd=".", setup=setup))
    repo.write("bots/one/checks.yaml", WORDS.format(name="one", said="version"))
    repo.write("bots/one/agent.py", READ)
    repo.write("bots/one/install.py", INSTALL)
    repo.commit()
    done = SAME_USER.run(repo, "run", "one-eval")
    assert done.returncode == 1, done.stdout
    text = " ".join(done.stdout.split())
    assert (
        "uv.lock is in the repository but not among the inputs of this set-up; add `/uv.lock` to "
        "spec.runtime.setup.inputs." in text
    )


def test_set_ups_of_several_agents_in_one_folder_do_not_break_each_other(
    repo: Repo, who: Who
) -> None:
    make = "import pathlib, sys\nfor n in range(300):\n    pathlib.Path(f'{sys.argv[1]}-{n}').mkdir()\n"
    for name in ("one", "two", "three"):
        setup = f"[python3, make.py, {name}]"
        repo.write(f"bots/{name}.yaml", AGENT.format(name=name, cwd="shared", setup=setup))
        repo.write(f"bots/{name}-checks.yaml", WORDS.format(name=name, said=f"{name} 300"))
    repo.write("bots/shared/make.py", make)
    tell = (
        "import collections, pathlib\n"
        "made = [p.name.split('-')[0] for p in pathlib.Path().iterdir() if p.is_dir()]\n"
        "print(*(f'{n} {c}' for n, c in collections.Counter(made).items()))\n"
    )
    repo.write("bots/shared/agent.py", tell)
    repo.commit()
    repo.branch("change")
    repo.write("bots/shared/agent.py", f"{tell}# more\n")
    repo.commit()
    said = outputs(repo, who)
    assert sorted(said) == ["one 300"] * 2 + ["three 300"] * 2 + ["two 300"] * 2


def test_twenty_agents_on_two_sides_set_up_side_by_side(repo: Repo, who: Who) -> None:
    """Half of them share a layer by twos, half have a set-up of old in a folder of all."""
    repo.write("bots/install.py", INSTALL.replace("../../uv.lock", "../uv.lock"))
    repo.write("bots/make.py", "import pathlib, sys\npathlib.Path(sys.argv[1]).mkdir()\n")
    for number in range(20):
        name = f"bot-{number}"
        setup = f"[python3, make.py, made-{number}]"
        if number % 2:
            setup = f"{{run: [python3, install.py, n{number // 4}], inputs: [install.py, /uv.lock], creates: [.venv]}}"
        repo.write(f"bots/{name}.yaml", AGENT.format(name=name, cwd=".", setup=setup))
        repo.write(f"bots/{name}-checks.yaml", WORDS.format(name=name, said=f"{number % 2 == 1}"))
    program = "import pathlib\nprint(pathlib.Path('.venv').exists(), len([*pathlib.Path().glob('made-*')]))\n"
    repo.write("bots/agent.py", program)
    repo.commit()
    repo.branch("change")
    repo.write("bots/agent.py", f"{program}# more\n")
    repo.commit()
    assert sorted(outputs(repo, who)) == ["False 1"] * 20 + ["True 0"] * 20
