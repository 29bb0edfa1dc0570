"""Generates the git repositories that are measured, and keeps them for the next time."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks import manifests
from benchmarks.processes import environment

Files = Mapping[str, str]
"""Texts by path."""

BASE = "main"
HEAD = "change"
COMMITTER = "Benchmark <benchmark@example.com> 1767225600 +0000"

PROGRAM = """\
import json
import sys

request = json.load(sys.stdin)
print(json.dumps({"output": "What is the reason? " + request["prompt"]}))
"""


def large_files(files: int, agents: int, fixtures: int) -> dict[str, str]:
    """A repository of `files` files: Agents, an Eval each, fixtures, programs, and other code.

    The other code fills up to `files`, so that number must leave room for the rest.
    """
    texts = {"README.md": "# Products\n", "requirements.txt": "requests==2.32.5\n"}
    texts[".gitignore"] = ".gateval/results/\n__pycache__/\n"
    for number in range(agents):
        folder = f"agents/{manifests.agent_name(number)}"
        texts[f"{folder}/agent.yaml"] = manifests.agent_manifest(number)
        texts[f"{folder}/eval.yaml"] = manifests.eval_manifest(number)
        texts[f"{folder}/prompts/system.md"] = manifests.system_prompt(number)
        texts[f"{folder}/main.py"] = PROGRAM
        texts[f"services/service-{number:03d}/main.py"] = PROGRAM
        texts[f"services/service-{number:03d}/deploy.yaml"] = manifests.other_yaml(number)
    for number in range(fixtures):
        agent, case = number % agents, number // agents
        path = f"agents/{manifests.agent_name(agent)}/fixtures/case-{case:04d}.yaml"
        texts[path] = manifests.fixture_manifest(agent, case)
    for number in range(files - len(texts)):
        module = f"src/package_{number % 97:02d}/part_{number % 7}/module_{number:05d}.py"
        texts[module] = f'"""Module {number}."""\n\nVALUE = {number}\n'
    return texts


def single_agent_files(fixtures: int, parallel: int) -> dict[str, str]:
    """A repository with one declarative Agent, its Eval, and that many fixtures."""
    texts = {
        ".gitignore": ".gateval/results/\n",
        "agent/agent.yaml": manifests.agent_manifest(0),
        "agent/eval.yaml": manifests.eval_manifest(0, parallel=parallel),
    }
    for number in range(fixtures):
        texts[f"agent/fixtures/case-{number:04d}.yaml"] = manifests.fixture_manifest(0, number)
    return texts


def served_agent_files(fixtures: int, parallel: int) -> dict[str, str]:
    """The same with an Agent that is a server, as many instances as trials side by side."""
    server = Path(__file__).with_name("candidate_server.py").read_text("utf-8")
    return single_agent_files(fixtures, parallel) | {
        "agent/agent.yaml": manifests.served_agent_manifest(parallel),
        "agent/serve.py": server,
    }


def repository(cache: Path, files: Files, change: Files) -> Path:
    """Return a repository with the commits `BASE` (`files`) and, checked out, `HEAD` (`change`).

    It is built once per content below `cache` and must not be written to.
    """
    stream = b"".join(_fast_import(files, change))
    folder = cache / hashlib.sha256(stream).hexdigest()[:16]
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix="building-", dir=cache))
        _git(fresh, "init", "--quiet", f"--initial-branch={BASE}")
        _git(fresh, "fast-import", "--quiet", stdin=stream)
        _git(fresh, "checkout", "--quiet", HEAD)
        _put(fresh, folder)
    return folder


def default_cache() -> Path:
    """The folder that repositories are kept in: one of this user's below the temporary folder."""
    return Path(tempfile.gettempdir()) / f"gateval-benchmarks-{os.getuid()}"


def _put(fresh: Path, folder: Path) -> None:
    """Move a finished repository to its place, unless somebody else was faster."""
    try:
        fresh.rename(folder)
    except OSError:
        shutil.rmtree(fresh)


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> None:
    command = ["git", *arguments]
    subprocess.run(command, cwd=folder, env=environment(), input=stdin, check=True)


def _fast_import(files: Files, change: Files) -> Iterator[bytes]:
    """The two commits as `git fast-import` reads them."""
    yield from _commit(BASE, files, "Base", parent=None)
    yield from _commit(HEAD, change, "Change", parent=BASE)


def _commit(branch: str, files: Files, message: str, *, parent: str | None) -> Iterator[bytes]:
    yield f"commit refs/heads/{branch}\ncommitter {COMMITTER}\n".encode()
    yield from _data(message)
    if parent:
        yield f"from refs/heads/{parent}\n".encode()
    for path, text in files.items():
        yield f"M 100644 inline {path}\n".encode()
        yield from _data(text)
    yield b"\n"


def _data(text: str) -> Iterator[bytes]:
    content = text.encode()
    yield f"data {len(content)}\n".encode()
    yield content + b"\n"
