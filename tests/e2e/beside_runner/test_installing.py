"""How Gateval comes to the runner: what installers may see, and what a pull request cannot do there.

The installs of these tests are their own: no environment is there yet.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.beside_runner import Runner
from tests.helpers.isolation import open_folder
from tests.helpers.program_shop import ProgramShop
from tests.helpers.runner import Job
from tests.helpers.tiers import some_always

EVIL = "import os; open({place!r}, 'a').write(__name__ + chr(10))\n"
MODULES = ("venv", "pip", "json", "gateval", "sitecustomize", "compileall", "start")
RECORDING = '#!/bin/sh\nenv >> {log}\npwd >> {log}\nexec {uv} "$@"\n'


@pytest.fixture
def fresh(ordinary: Runner) -> Iterator[Runner]:
    """A runner on which nothing is installed."""
    with open_folder() as folder:
        runner = Runner(folder, ordinary.user)
        for name in ("told", "seen"):
            (folder / name).touch()
            (folder / name).chmod(0o666)
        yield runner


def hostile_job(shop: ProgramShop, told: Path) -> Job:
    """A job whose workspace holds modules, programs and settings that installers could take up."""
    job = shop.on_pull(shop.change())
    for name in MODULES:
        (job.workspace / f"{name}.py").write_text(EVIL.format(place=str(told)))
    (job.workspace / "pyproject.toml").write_text("[project\n")
    (job.workspace / "uv.toml").write_text('index-url = "http://127.0.0.1:9/simple"\n')
    (job.workspace / ".python-version").write_text("2.7\n")
    for name in ("uv", "sudo", "python3"):
        program = job.workspace / name
        program.write_text(f"#!/bin/sh\necho {name} >> {told}\n")
        program.chmod(0o755)
    return job


def record(runner: Runner, log: Path) -> None:
    """Have uv write down what it can see before it does its work."""
    uv = runner.tools / "uv"
    real = uv.resolve() if uv.is_symlink() else Path(shutil.move(uv, runner.tools / "real-uv"))
    uv.unlink(missing_ok=True)
    uv.write_text(RECORDING.format(log=log, uv=real))
    uv.chmod(0o755)


@pytest.mark.parametrize("installer", some_always(["uv", "pip"], 2))
def test_nothing_in_the_workspace_has_a_say_and_installers_see_no_secret(
    shop: ProgramShop, fresh: Runner, installer: str
) -> None:
    told, seen = fresh.tools.parent / "told", fresh.tools.parent / "seen"
    if installer == "uv":
        record(fresh, seen)
    else:
        (fresh.tools / "uv").unlink()
    job = hostile_job(shop, told)
    path = f".::{fresh.tools}:/usr/bin:/bin"
    ended = fresh.run_main(
        job, PATH=path, PYTHONPATH=str(job.workspace), ANTHROPIC_API_KEY="sk-canary"
    )
    assert ended.code == 0, ended.log + ended.errors
    assert told.read_text() == ""
    (made,) = fresh.cache.iterdir()
    files = [one for one in made.rglob("*") if not one.is_symlink()]
    assert [one for one in files if one.lstat().st_mode & 0o002] == [], "others can write them"
    if installer == "uv":
        assert f"\n{fresh.cache}\n" in seen.read_text()
        for secret in (job.token, "sk-canary", "runtime-token"):
            assert secret not in seen.read_text()


def test_without_uv_and_python_it_says_what_to_do(shop: ProgramShop, fresh: Runner) -> None:
    ended = fresh.run_main(shop.on_pull(shop.change()), PATH=f"{fresh.home}/externals/node24/bin")
    assert ended.code == 3
    assert "neither uv nor a Python 3.11 or newer" in ended.log
    assert "astral-sh/setup-uv or actions/setup-python" in ended.log


def test_what_cannot_be_installed_is_told_and_leaves_nothing(
    shop: ProgramShop, fresh: Runner
) -> None:
    lock = fresh.action / "requirements/run.txt"
    lock.write_text(lock.read_text().replace("sha256:", "sha256:f"))
    ended = fresh.run_main(shop.on_pull(shop.change()))
    assert ended.code == 3
    assert "::error::gateval: Gateval could not be installed: uv ended with" in ended.log
    assert list(fresh.cache.iterdir()) == []
