"""What `make coverage` counts: the tests' own process and every `gateval` that they start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.helpers.command import ROOT

SCRIPT = """
import sys
from pathlib import Path
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
assert "gateval.cli.authoring" not in sys.modules
done = gateval(Repo(Path(sys.argv[1]) / "repo"), "schema", "Agent")
assert done.returncode == 0, done.stderr
"""


def test_a_command_in_a_process_of_its_own_is_counted(tmp_path: Path) -> None:
    data = f"--data-file={tmp_path / 'data'}"
    report = tmp_path / "report.json"
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    for command in (
        ["run", data, str(script), str(tmp_path)],
        ["combine", "--quiet", data],
        ["json", "--quiet", data, "-o", str(report), "--include=*/__main__.py,*/cli/*"],
    ):
        line = [sys.executable, "-m", "coverage", *command]
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        done = subprocess.run(line, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    files = json.loads(report.read_text())["files"]
    assert files["src/gateval/__main__.py"]["executed_lines"]
    assert files["src/gateval/cli/authoring.py"]["executed_lines"]
    assert not files["src/gateval/cli/gate.py"]["executed_lines"], "no other command ran"
