"""Runs the linters of workflows, actions and Dockerfiles, each on every such file of the project.

All of them come as programs in Python wheels (`requirements/dev.txt`) and work without a network.
Where a machine has no wheel of one, it is named as skipped; with GATEVAL_TEST_ALL=1 that fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PROGRAMS = Path(sys.executable).parent
ZIZMOR = ("--offline", "--no-progress", "--quiet", "--config", str(ROOT / ".github/zizmor.yml"))


class Linter(NamedTuple):
    """One program, its options, and the files it is for."""

    program: str
    options: tuple[str, ...]
    files: tuple[Path, ...]


class Verdict(NamedTuple):
    """What a linter says: None for fine, else its text; `missing` if it is not installed."""

    program: str
    complaint: str | None = None
    missing: bool = False


def linters(
    workflows: Iterable[Path], actions: Iterable[Path], dockerfiles: Iterable[Path]
) -> list[Linter]:
    """Return the linters for these files, without those that have nothing to do."""
    flows, definitions, images = tuple(workflows), tuple(actions), tuple(dockerfiles)
    schema = "--builtin-schema"
    config = (f"--config={ROOT / '.hadolint.yaml'}",)
    wanted = (
        Linter("actionlint", ("-no-color", "-shellcheck=", "-pyflakes="), flows),
        Linter("zizmor", ZIZMOR, flows + definitions),
        Linter("check-jsonschema", (schema, "vendor.github-workflows"), flows),
        Linter("check-jsonschema", (schema, "vendor.github-actions"), definitions),
        Linter("hadolint", ("--no-color", *config), images),
    )
    return [linter for linter in wanted if linter.files]


def lint(linter: Linter) -> Verdict:
    """Run one linter."""
    program = PROGRAMS / linter.program
    if not program.exists():
        return Verdict(linter.program, missing=True)
    done = subprocess.run(
        [program, *linter.options, *linter.files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return Verdict(linter.program, done.stdout + done.stderr if done.returncode else None)


def lint_all(chosen: Sequence[Linter]) -> list[Verdict]:
    """Run linters side by side and return their verdicts in order."""
    with ThreadPoolExecutor(len(chosen) or 1) as side:
        return list(side.map(lint, chosen))


def project_files() -> tuple[list[Path], list[Path], list[Path]]:
    """Return the workflows, actions and Dockerfiles that git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = (os.fsdecode(name) for name in listed.stdout.split(b"\0") if name)
    paths = [path for name in names if (path := ROOT / name).is_file()]
    return (
        [path for path in paths if path.parent.name == "workflows" and path.suffix == ".yml"],
        [path for path in paths if path.name == "action.yml"],
        [path for path in paths if path.name.startswith("Dockerfile")],
    )


def main() -> int:
    """Lint the project's files; print what is wrong, and return 1 if anything is."""
    verdicts = lint_all(linters(*project_files()))
    for verdict in verdicts:
        if verdict.missing:
            print(f"{verdict.program}: skipped, there is no wheel of it for this machine.")
        elif verdict.complaint is not None:
            print(f"{verdict.program}:\n{verdict.complaint}")
    everything = bool(os.environ.get("GATEVAL_TEST_ALL"))
    bad = [one for one in verdicts if one.complaint is not None or (one.missing and everything)]
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
