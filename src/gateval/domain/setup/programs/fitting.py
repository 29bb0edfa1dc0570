"""What a project's own files add to the usual set-up: files that it needs, tools, the project."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from posixpath import dirname, join, normpath

from gateval.domain.setup.programs.found import SetUp
from gateval.domain.setup.programs.installing import UNLOCKED

_REQUIRES = re.compile(r"^\s*(?:-[rc]|--requirement|--constraint)[ \t=]*([\w./-]+)", re.M)
_DEPENDS = re.compile(r"^dependencies\s*=\s*\[", re.M)
_NEW_YARN = ("sh", "-c", "export YARN_NODE_LINKER=node-modules && yarn install --immutable")
_ADDS = {
    "npm": "npm install --no-save tsx",
    "pnpm": "pnpm add tsx",
    "yarn": "yarn add tsx",
}
_ASKS = re.compile(
    r"^\s*(?:from|import) (?:importlib[._]metadata|importlib import metadata|pkg_resources)\b", re.M
)
_BUILDS = re.compile(r"^\[build-system\]", re.M)
_NAMES_FILE = re.compile(r"\b(?:readme|file)\s*=\s*[\"']([\w./-]+)[\"']")
_WITHOUT = {"--no-install-project": "--no-editable", "--no-root": "", "--no-self": "--no-editable"}
"""What leaves the project out of an installation, and what takes it in by a copy of its files."""


def fitted(
    setup: SetUp | None,
    path: str,
    root: str,
    projects: Mapping[str, str],
    imported: Collection[str],
    files: Collection[str],
) -> SetUp | None:
    """Return the set-up as the program at `path`, which works in `root`, needs it.

    `projects` are texts of project files, `imported` the packages that its files import.
    """
    if setup is None:
        unlocked = path.endswith(".py") and _DEPENDS.search(
            projects.get(join(root, "pyproject.toml"), "")
        )
        return UNLOCKED if unlocked else None
    if setup.inputs == ("requirements.txt",):
        named = _REQUIRES.findall(projects.get(join(root, "requirements.txt"), ""))
        more = dict.fromkeys(normpath(one) for one in named if normpath(join(root, one)) in files)
        return setup._replace(inputs=(*setup.inputs, *more))
    if setup.creates != ("node_modules",):
        return setup
    return _node(setup, path, root, projects, imported, files)


def _node(
    setup: SetUp,
    path: str,
    root: str,
    projects: Mapping[str, str],
    imported: Collection[str],
    files: Collection[str],
) -> SetUp:
    run, inputs, creates = setup
    tool, own = run[0], projects.get(join(root, "package.json"), "")
    if tool == "yarn" and join(root, ".yarnrc.yml") in files:
        folder = f"{join(root, '.yarn')}/"
        kept = (".yarn/**",) if any(one.startswith(folder) for one in files) else ()
        run, inputs = _NEW_YARN, (*inputs, ".yarnrc.yml", *kept)
    workspace = '"workspaces"' in own or "pnpm-workspace.yaml" in inputs
    if workspace:
        inputs = (*inputs, "**/package.json", *_shared(root, projects, imported))
        within = _package_of(path, root, files)
        creates = (*creates, f"{within}/node_modules") if within and tool == "pnpm" else creates
    if path.endswith((".ts", ".mts", ".tsx")) and '"tsx"' not in own and tool in _ADDS:
        added = f"{_ADDS[tool]}{' --workspace-root' * (workspace and tool == 'pnpm')}"
        begun = run[-1] if run[:2] == ("sh", "-c") else " ".join(run)
        run = ("sh", "-c", f"{begun} && {added}")
    return SetUp(run, inputs, creates)


def _shared(root: str, projects: Mapping[str, str], imported: Collection[str]) -> tuple[str, ...]:
    """Return patterns of the folders below `root` whose package is imported."""
    found = []
    for path, text in projects.items():
        folder = dirname(path)
        if path.endswith("package.json") and folder != root and _name(text) in imported:
            found.append(f"/{folder}/**")
    return tuple(sorted(found))


def _package_of(path: str, root: str, files: Collection[str]) -> str:
    """Return the folder of the program's own package, relative to `root`; "" for the root."""
    folder = dirname(path)
    while folder not in {root, ""}:
        if f"{folder}/package.json" in files:
            return folder[len(root) + 1 :] if root else folder
        folder = dirname(folder)
    return ""


def _name(text: str) -> object:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return whole.get("name") if isinstance(whole, dict) else None


def with_itself(
    setup: SetUp | None, root: str, texts: Iterable[str], project: str, files: Collection[str]
) -> SetUp | None:
    """Return a set-up that installs the project in `root` too, where its files ask for metadata.

    A Python project that asks for its own version has to be installed itself, beside its needs.
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
    packages = {path.split("/")[0] for path in own if re.fullmatch(r"[^/]+/__init__\.py", path)}
    sources = ["src"] if any(path.startswith("src/") for path in own) else sorted(packages)
    named = [one for one in _NAMES_FILE.findall(project) if join(root, one) in files]
    more = (*(f"{folder}/**" for folder in sources), *dict.fromkeys(named))
    return setup._replace(run=run, inputs=(*setup.inputs, *more))
