"""Programs of candidates where the gate finds them and candidates do not: what is told of that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.command import gateval, start_gateval
from tests.helpers.isolation import open_folder, open_python
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, build_shop

GATE = [sys.executable, "-P", "-m", "gateval"]


def shop_with(path: Path, program: str) -> Repo:
    shop = build_shop(path)
    runtime = f"  runtime: {{type: command, command: [{program}, run.py]}}\n  tools:"
    shop.write("agents/support.yaml", AGENT.replace("  tools:", runtime))
    shop.write("agents/run.py", "import closed_words\nprint('Hello', closed_words.WHO)\n")
    shop.commit()
    return shop


@pytest.mark.skipif(os.geteuid() != 0, reason="candidates get users of their own from root alone")
def test_a_python_that_candidates_cannot_go_to_is_named_and_not_called_uninstalled() -> None:
    with open_folder() as folder:
        shop = shop_with(folder / "shop", "python3")
        closed = folder / "closed"
        (closed / "bin").mkdir(parents=True)
        (closed / "bin/python3").symlink_to(open_python())
        closed.chmod(0o700)
        path = f"{closed}/bin{os.pathsep}{os.defpath}"
        extra = {"GATEVAL_CANDIDATE_USERS": "", "PATH": path}
        run = start_gateval(shop, "run", "support-eval", command=GATE, **extra)
        said = " ".join("".join(run.communicate(timeout=90)).split())
        doctor = start_gateval(shop, "doctor", command=GATE, **extra)
        seen = " ".join("".join(doctor.communicate(timeout=90)).split())
    if "own user per candidate" not in said:
        pytest.skip("candidates have no users of their own here")
    named = f'cannot go to {closed}/bin/python3, the "python3" that is first on PATH, so /'
    assert named in said
    assert "The module closed_words is not installed" not in said
    assert named in seen
    assert "problem programs" in seen


def test_a_virtual_environment_among_temporary_files_is_visible_whole_or_told_of(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home/venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (packages,) = home.glob("lib/python3*/site-packages")
    (packages / "closed_words.py").write_text("WHO = 'you'\n")
    shop = shop_with(tmp_path / "shop", f"{home}/bin/python")
    done = gateval(shop, "run", "support-eval", "--fixture", "greets")
    said = " ".join((done.stdout + done.stderr).split())
    if "files fenced" not in said:
        pytest.skip("this system hides no files from candidates")
    assert done.returncode != 0
    assert "Candidates cannot see the virtual environment" in said
    assert "Put that on PATH where the gate is started" in said
    path = f"{home}/bin{os.pathsep}{shop.env['PATH']}"
    done = gateval(shop, "run", "support-eval", "--fixture", "greets", PATH=path)
    assert done.returncode == 0, done.stdout
