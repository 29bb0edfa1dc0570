"""Makes a pull request out of the examples and runs the gate on it: what `make demo` shows.

`shop/` becomes the first commit on `main`, `shop-change/` a commit on a branch of it. Nothing of
the machine gets in: no git configuration, no identity, no clock, no provider key, no network.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from gateval.candidates.isolation.visible_paths import passable

EXAMPLES = Path(__file__).resolve().parent
BRANCH = "refund-at-once"
SECONDS = 120
GRACE_SECONDS = 10
INTERRUPTED = 130

PASSED_ON = ("PATH", "LANG", "TMPDIR", "TERM", "COLUMNS", "NO_COLOR", "LD_LIBRARY_PATH")
"""What the gate gets of our environment; in particular no provider key."""

WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
"""Begins a command that root runs without any capability."""

AGENTS = EXAMPLES.parent / ".venv" / "agents" / "bin"
"""Where the shop's agents find Python and their client, if `make demo` has set it up."""

EXPECTED = {("regression", "refund-must-clarify"), ("no-answer", "shipping-light-parcel")}
"""Code and fixture of reasons that the decision must hold, or the demo shows something else."""


def main() -> int:
    """Run the demo; 0 if the gate decided as it should, 130 if interrupted, else 1; each said."""
    try:
        return demo()
    except KeyboardInterrupt:
        print("\nThe demo was interrupted before its end.", file=sys.stderr)
        return INTERRUPTED
    except subprocess.TimeoutExpired:
        print(f"\nThe gate was not done within {SECONDS} s, and was ended.", file=sys.stderr)
    except subprocess.CalledProcessError as error:
        print(f"\n`{' '.join(error.cmd)}` ended with {error.returncode}.", file=sys.stderr)
    return 1


def demo() -> int:
    """Show everything, and return 0 if the gate decided as it should, else 1 with a sentence."""
    if shutil.which("git") is None:
        print("The demo makes a git repository, but git is not installed.", file=sys.stderr)
        return 1
    workspace = Path(tempfile.mkdtemp(prefix="gateval-demo-"))
    print("A repository with three agents, and a pull request that changes each of them:\n")
    repository = build(workspace)
    show(git(repository, "diff", "--stat", f"main...{BRANCH}"))
    show(f"In {repository}:\n$ gateval check --base main\n")
    status = check(repository)
    runs = sorted(repository.glob(".gateval/results/*/decision.v1.json"))
    if not runs:
        print(f"\nThe gate left no decision (exit status {status}).", file=sys.stderr)
        return 1
    results = runs[-1].parent
    show("\nThis is the comment that the pull request would get, as markdown:\n")
    show((results / "comment.md").read_text("utf-8"))
    show("And this is where all of it stands:")
    show(f"  comment     {results / 'comment.md'}")
    show(f"  report      {results / 'report.html'}")
    show(f"  traces      {results / 'results.v1.json'}")
    show(f"  repository  {repository}\n")
    return verdict(status, json.loads(runs[-1].read_text("utf-8")))


def build(workspace: Path) -> Path:
    """Make the repository in `workspace`, with the pull request's branch checked out."""
    repository = workspace / "shop"
    shutil.copytree(EXAMPLES / "shop", repository, ignore=shutil.ignore_patterns("__pycache__"))
    git(repository, "init", "--quiet", "--initial-branch=main", "--template=")
    commit(repository, "Three agents with their evals", minute=0)
    git(repository, "checkout", "--quiet", "-b", BRANCH)
    for path in changed_files():
        shutil.copyfile(EXAMPLES / "shop-change" / path, repository / path)
    commit(repository, "Refund at once, exact fractions, zones in a module of their own", minute=5)
    return repository


def changed_files() -> list[Path]:
    """Return the paths, from the repository's root, of the files that the pull request changes."""
    change = EXAMPLES / "shop-change"
    found = (path.relative_to(change) for path in change.rglob("*") if path.is_file())
    return sorted(path for path in found if path.parts[0] == "agents" and path.suffix != ".pyc")


def commit(repository: Path, message: str, *, minute: int) -> None:
    """Commit everything, at a fixed time, so that every demo has the same commit ids."""
    date = f"2026-11-20T09:{minute:02}:00Z"
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", f"--message={message}", date=date)


def git(repository: Path, *arguments: str, date: str = "") -> str:
    """Run git without any configuration but the repository's, and return what it prints."""
    who = {"NAME": "Robin Hale", "EMAIL": "robin@ridgeline.example", "DATE": date}
    identity = {
        f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()
    }
    env = environment(repository.parent) | {"GIT_CONFIG_GLOBAL": os.devnull} | identity
    command = ["git", "-c", "core.autocrlf=false", "-c", "gc.auto=0", *arguments]
    done = subprocess.run(
        command, cwd=repository, env=env, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def check(repository: Path) -> int:
    """Run the gate on the branch, its progress in plain view, and return its exit status.

    Raises KeyboardInterrupt when it was interrupted, with us or alone.
    """
    command = [*gate(), "check", "--base", "main"]
    process = subprocess.Popen(command, cwd=repository, env=environment(repository.parent))
    try:
        status = process.wait(SECONDS)
    finally:
        end(process)
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    return status


def gate() -> list[str]:
    """Return the words that start the gate.

    Root's candidates get users of their own, unless this Python lies where only root can go: then
    the gate does without the right to that.
    """
    program = [sys.executable, "-P", "-m", "gateval"]
    private = os.geteuid() == 0 and not passable(sys.executable)
    return [*WITHOUT_RIGHTS, *program] if private else program


def end(gate: subprocess.Popen[bytes]) -> None:
    """See the gate to its end. Ctrl-C has reached it as well; it ends its candidates first."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        gate.wait(GRACE_SECONDS)
    if gate.poll() is None:
        gate.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            gate.wait(GRACE_SECONDS)
    if gate.poll() is None:
        gate.kill()
        gate.wait()


def environment(workspace: Path) -> dict[str, str]:
    """Return the whole environment of the demo's processes; `workspace` is their home."""
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return passed_on | {
        "PATH": agents_path(),
        "HOME": str(workspace),
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def agents_path() -> str:
    """Return a PATH on which the agents' Python comes first: theirs, else the one that runs us."""
    first = AGENTS if AGENTS.is_dir() else Path(sys.executable).parent
    return os.pathsep.join((str(first), os.environ.get("PATH", os.defpath)))


def verdict(status: int, decision: dict[str, Any]) -> int:
    """Say what the gate decided and whether that is what this demo is meant to show."""
    missing = EXPECTED - {(reason["code"], reason["fixture"]) for reason in decision["reasons"]}
    if missing:
        wanted = ", ".join(f"{code} of {fixture}" for code, fixture in sorted(missing))
        print(f"\nThis is not what the demo should show: no {wanted}.", file=sys.stderr)
        return 1
    if status != 1:
        print(f"\nThe gate should have exited with 1, not with {status}.", file=sys.stderr)
        return 1
    print(f"Exit status: {status}: the gate would fail this pull request.")
    return 0


def show(text: str) -> None:
    """Print at once, so that our lines and those of the gate keep their order in a log."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
