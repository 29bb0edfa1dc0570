"""A repository's real git storage: a bare repository, read and written with git itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.servers.github.state.commits import ChangedFile, Commit

_STATUS = {"A": "added", "M": "modified", "D": "removed", "R": "renamed", "T": "changed"}
_LENGTHS = (40, 64)
"""Of a commit's full id."""
_FORMAT = "%H%x00%P%x00%T%x00%an%x00%ae%x00%aI%x00%B"

_CONFIG = """
[uploadpack]
\tallowAnySHA1InWant = true
\tallowFilter = true
[receive]
\thideRefs = refs/pull/
\tautogc = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
"""As GitHub: any commit can be fetched by id, and nobody pushes to refs/pull."""
_HOOK = """#!/bin/sh
# What protects a branch: refs between spaces in NO_FORCE and NO_DELETION (see git_http.py).
refuse() {
  echo "GH013: Repository rule violations found for $1." >&2
  echo "- $2" >&2
  exit 1
}
case "$3" in *[!0]*) ;; *)
  case "$NO_DELETION" in *" $1 "*) refuse "$1" "Cannot delete this branch" ;; esac
  exit 0
esac
case "$2" in *[!0]*)
  case "$NO_FORCE" in *" $1 "*)
    git merge-base --is-ancestor "$2" "$3" || refuse "$1" "Cannot force-push to this branch" ;;
  esac
esac
"""


class GitStore:
    """A bare repository at `path`. Commit ids of unknown commits give None, never an error."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._changed: dict[tuple[str, str], list[ChangedFile]] = {}
        if not (path / "HEAD").exists():
            path.mkdir(parents=True, exist_ok=True)
            self.git("init", "--quiet", "--bare", "--initial-branch=main", "--template=")
        with (path / "config").open("a", encoding="utf-8") as config:
            config.write(_CONFIG)
        hook = path / "hooks" / "update"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(_HOOK, encoding="utf-8")
        hook.chmod(0o755)

    @property
    def env(self) -> dict[str, str]:
        """An environment in which nothing of the machine's git configuration counts."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": os.devnull,
            "LC_ALL": "C",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "GitHub",
            "GIT_AUTHOR_EMAIL": "noreply@github.com",
            "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
            "GIT_COMMITTER_NAME": "GitHub",
            "GIT_COMMITTER_EMAIL": "noreply@github.com",
            "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
        }

    def git(self, *arguments: str) -> str:
        """Run git here and return what it prints, without the last line end."""
        return self._run(*arguments, check=True).stdout.removesuffix("\n")

    def history(self, sha: str) -> dict[str, Commit]:
        """Return a commit by its full id with all that leads to it; empty if it is not here."""
        if len(sha) not in _LENGTHS:
            return {}
        shown = self._run("log", "-z", f"--format={_FORMAT}", f"{sha}^{{commit}}")
        if shown.returncode:
            return {}
        fields = iter(shown.stdout.split("\0"))
        records = zip(*[fields] * (_FORMAT.count("%x00") + 1), strict=False)
        return {record[0]: _commit(*record) for record in records}

    def blob(self, commit: str, path: str) -> tuple[str, bytes] | None:
        """Return id and content of a file in a commit; None if it has no such file."""
        found = self._run("rev-parse", "--verify", "--quiet", f"{commit}:{path}")
        oid = found.stdout.strip()
        if found.returncode or self.git("cat-file", "-t", oid) != "blob":
            return None
        text = self._run("cat-file", "blob", oid, check=True).stdout
        return oid, text.encode("utf-8", "surrogateescape")

    def refs(self) -> dict[str, str]:
        """Return every ref with its commit."""
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ", 1) for line in lines)

    def set_ref(self, name: str, sha: str) -> None:
        """Point a ref at a commit that is here."""
        self.git("update-ref", name, sha)

    def take(self, source: Path, revision: str, ref: str) -> str:
        """Bring a revision of a repository here under `ref`; return its commit id."""
        if source == self.path and len(revision) in _LENGTHS:
            self.set_ref(ref, revision)
            return revision
        self.git("fetch", "--quiet", "--no-tags", str(source), f"+{revision}:{ref}")
        return self.git("rev-parse", ref)

    def merge(self, base: str, head: str, ref: str, message: str) -> str | None:
        """Merge head into base under `ref`, as GitHub does; None (and no ref) on a conflict."""
        merged = self._run("merge-tree", "--write-tree", base, head)
        if merged.returncode:
            self.git("update-ref", "-d", ref)
            return None
        tree = merged.stdout.splitlines()[0]
        sha = self.git("commit-tree", tree, "-p", base, "-p", head, "-m", message)
        self.set_ref(ref, sha)
        return sha

    def changed_files(self, base: str, head: str) -> list[ChangedFile]:
        """Return what differs between two commits by their full ids, renames found."""
        if (base, head) not in self._changed:
            fields = self.git("diff", "--raw", "--numstat", "-z", "-M", "--no-color", base, head)
            self._changed[base, head] = _parsed(fields.split("\0"))
        return self._changed[base, head]

    def _run(self, *arguments: str, check: bool = False) -> subprocess.CompletedProcess[str]:
        line = ["git", *arguments]
        done = subprocess.run(
            line,
            cwd=self.path,
            env=self.env,
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="surrogateescape",
        )
        if check and done.returncode:
            raise AssertionError(f"{' '.join(line)} exits with {done.returncode}: {done.stderr}")
        return done


def _commit(
    sha: str, parents: str, tree: str, author: str, email: str, date: str, message: str
) -> Commit:
    day = date.replace("+00:00", "Z")
    return Commit(sha, tuple(parents.split()), message.strip(), author, email, day, tree)


def _parsed(fields: list[str]) -> list[ChangedFile]:
    """Read `git diff --raw --numstat -z`: first all raw entries, then all counts."""
    kinds: dict[str, tuple[str, str | None]] = {}
    files: list[ChangedFile] = []
    rest = iter(field for field in fields if field)
    for field in rest:
        if field.startswith(":"):
            letter, first = field.split(" ")[-1][0], next(rest)
            name, old = (next(rest), first) if letter == "R" else (first, None)
            kinds[name] = (_STATUS[letter], old)
            continue
        added, removed, name = field.split("\t", 2)
        if not name:
            next(rest)
            name = next(rest)
        status, old = kinds[name]
        files.append(ChangedFile(name, status, _number(added), _number(removed), old, None))
    return files


def _number(count: str) -> int:
    """A binary file has `-` for its count of lines."""
    return int(count) if count.isdigit() else 0
