"""A Python project that asks for its own version has to be installed itself, beside its needs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from posixpath import join

from gateval.domain.setup.programs.found import SetUp

_ASKS = re.compile(
    r"^\s*(?:from|import) (?:importlib[._]metadata|importlib import metadata|pkg_resources)\b", re.M
)
_BUILDS = re.compile(r"^\[build-system\]", re.M)
_NAMES_FILE = re.compile(r"\b(?:readme|file)\s*=\s*[\"']([\w./-]+)[\"']")
_WITHOUT = {"--no-install-project": "--no-editable", "--no-root": "", "--no-self": "--no-editable"}
"""What leaves the project out of an installation, and what takes it in by a copy of its files."""


def with_itself(
    setup: SetUp | None, root: str, texts: Iterable[str], project: str, files: Collection[str]
) -> SetUp | None:
    """Return a set-up that installs the project in `root` too, where its files ask for metadata.

    `texts` are those of its files, `project` is that of its `pyproject.toml`, `files` all tracked
    paths. Then its sources are inputs, so a change of them sets it up anew.
    """
    if setup is None or not _BUILDS.search(project) or not any(map(_ASKS.search, texts)):
        return setup
    words = (_WITHOUT.get(word, word).replace("-r pyproject.toml", ".") for word in setup.run)
    run = tuple(filter(None, words))
    if run == setup.run:
        return setup
    begin = f"{root}/" if root else ""
    own = [path.removeprefix(begin) for path in files if path.startswith(begin)]
    packages = {path.split("/")[0] for path in own if path.count("/") == 1 and _is_package(path)}
    sources = ["src"] if any(path.startswith("src/") for path in own) else sorted(packages)
    named = [one for one in _NAMES_FILE.findall(project) if join(root, one) in files]
    more = (*(f"{folder}/**" for folder in sources), *dict.fromkeys(named))
    return setup._replace(run=run, inputs=(*setup.inputs, *more))


def _is_package(path: str) -> bool:
    return path.endswith("/__init__.py")
