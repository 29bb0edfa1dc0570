"""Short ways to a repository with AgentV's files, and to what is read of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gateval.adapters.git.repository import open_repository
from gateval.app.readers import registries
from gateval.domain.planning.snapshot import Snapshot
from gateval.formats.base import Registries
from gateval.pipeline.read import survey
from gateval.ports.repository import ForeignFiles
from tests.helpers.repo import Repo

TARGETS = """\
targets:
  - name: default
    provider: openai
    api_key: ${{ OPENAI_API_KEY }}
    model: gpt-mini
  - name: other
    provider: anthropic
    model: claude-small
  - name: echo
    provider: cli
    command_template: python3 echo.py {PROMPT} {FILES} --output {OUTPUT_FILE}
    files_format: --file {path}
    judge_target: default
"""

ECHO = """\
import argparse, json
p = argparse.ArgumentParser()
p.add_argument("prompt")
p.add_argument("--output")
p.add_argument("--file", action="append", default=[])
given = p.parse_args()
files = " ".join(open(name).read().strip() for name in given.file)
open(given.output, "w").write(json.dumps({"text": f"{given.prompt} {files}".strip()}))
"""


def agentv(path: Path, files: Mapping[str, str], *, targets: str = TARGETS) -> Repo:
    """Return a repository with these files and a targets file, all committed."""
    repo = Repo(path)
    if targets:
        repo.write(".agentv/targets.yaml", targets)
    for name, text in files.items():
        repo.write(name, text)
    repo.commit()
    return repo


def read(repo: Repo, revision: str = "HEAD", **environ: str) -> Snapshot:
    """Return what is read of a revision, in an environment with these variables."""
    return _read(repo, revision, replace(registries(), environ=environ))


def read_with(foreign: ForeignFiles, repo: Repo) -> Snapshot:
    """Return what is read of HEAD, with these files of other repositories."""
    return _read(repo, "HEAD", replace(registries(), environ={}, foreign=foreign))


def _read(repo: Repo, revision: str, known: Registries) -> Snapshot:
    repository = open_repository(repo.path, environ=repo.env)
    return survey(repository, known, repository.resolve(revision))


def problems(repo: Repo, **environ: str) -> list[str]:
    """Return all that is wrong, each with its place."""
    return [str(problem) for problem in read(repo, **environ).problems]
