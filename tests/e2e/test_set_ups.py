"""Set-ups side by side: layers made once, and set-ups of old that no longer break each other."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from gateval.candidates.isolation.places import passable
from tests.helpers.command import gateval
from tests.helpers.repo import Repo

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


@pytest.fixture(params=["own users", "same user"])
def who(request: pytest.FixtureRequest) -> dict[str, str]:
    """The environment by which candidates get users of their own, or run as the gate's."""
    if request.param == "same user":
        return {}
    if os.geteuid() or not passable(shutil.which("python3", path=os.defpath) or ""):
        pytest.skip("users of their own take root, and a python3 that they can run")
    return {"GATEVAL_CANDIDATE_USERS": "", "PATH": os.defpath}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("uv.lock", "version 1")
    return repo


def outputs(repo: Repo, who: dict[str, str], *arguments: str) -> list[str]:
    """What each trial of `check` answered; all of them have to pass."""
    results = repo.path.parent / "results"
    done = gateval(repo, "check", "--results", str(results), *arguments, **who)
    assert done.returncode == 0, done.stdout + done.stderr
    trials = json.loads((results / "results.v1.json").read_text())["trials"]
    return [trial["output"] for trial in trials]


def test_three_agents_on_two_sides_share_one_layer(repo: Repo, who: dict[str, str]) -> None:
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
    said = outputs(repo, {})
    assert sorted(one.split()[2] for one in said) == ["1", "2"]


def test_what_a_layer_misses_is_named(repo: Repo) -> None:
    setup = LAYER.replace(", /uv.lock", "")
    repo.write("bots/one/agent.yaml", AGENT.format(name="one", cwd=".", setup=setup))
    repo.write("bots/one/checks.yaml", WORDS.format(name="one", said="version"))
    repo.write("bots/one/agent.py", READ)
    repo.write("bots/one/install.py", INSTALL)
    repo.commit()
    done = gateval(repo, "run", "one-eval")
    assert done.returncode == 1, done.stdout
    text = " ".join(done.stdout.split())
    assert (
        "uv.lock is in the repository but not among the inputs of this set-up; add `/uv.lock` to "
        "spec.runtime.setup.inputs." in text
    )


def test_set_ups_of_several_agents_in_one_folder_do_not_break_each_other(
    repo: Repo, who: dict[str, str]
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
