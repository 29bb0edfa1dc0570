"""How a program's dependencies are installed, and what to write where something is missing."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from posixpath import basename, dirname, join, normpath

from gateval.domain.setup.go_programs import go_set_up
from gateval.domain.setup.import_graph import folders_above
from gateval.domain.setup.program import SetUp
from gateval.domain.strict_json import value_at
from gateval.domain.text import quote

_VENV, _MODULES = (".venv",), ("node_modules",)
_PIP = "python3 -m venv .venv && .venv/bin/pip install --quiet -r requirements.txt"
_UV_PIP = "uv venv --quiet .venv && uv pip install --quiet --compile-bytecode -r pyproject.toml"

PYTHON = {
    "uv.lock": SetUp(
        ("uv", "sync", "--frozen", "--no-install-project", "--compile-bytecode"),
        ("pyproject.toml", "uv.lock", ".python-version"),
        _VENV,
    ),
    "poetry.lock": SetUp(
        (
            "env",
            "POETRY_VIRTUALENVS_IN_PROJECT=true",
            "poetry",
            "install",
            "--no-root",
            "--compile",
        ),
        ("pyproject.toml", "poetry.lock"),
        _VENV,
    ),
    "pdm.lock": SetUp(
        ("env", "PDM_CHECK_UPDATE=false", "pdm", "sync", "--no-self"),
        ("pyproject.toml", "pdm.lock"),
        _VENV,
    ),
    "Pipfile.lock": SetUp(
        ("env", "PIPENV_VENV_IN_PROJECT=1", "pipenv", "sync"), ("Pipfile", "Pipfile.lock"), _VENV
    ),
    "requirements.txt": SetUp(("sh", "-c", _PIP), ("requirements.txt",), _VENV),
}
"""What installs what these files name, in this order of preference; all work offline-locked."""

NODE = {
    "package-lock.json": SetUp(("npm", "ci"), ("package.json", "package-lock.json"), _MODULES),
    "pnpm-lock.yaml": SetUp(
        ("pnpm", "install", "--frozen-lockfile"),
        ("package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml"),
        _MODULES,
    ),
    "yarn.lock": SetUp(
        ("yarn", "install", "--frozen-lockfile"), ("package.json", "yarn.lock"), _MODULES
    ),
    "bun.lock": SetUp(
        ("bun", "install", "--frozen-lockfile"), ("package.json", "bun.lock"), _MODULES
    ),
    "bun.lockb": SetUp(
        ("bun", "install", "--frozen-lockfile"), ("package.json", "bun.lockb"), _MODULES
    ),
}

UNLOCKED = SetUp(("sh", "-c", _UV_PIP), ("pyproject.toml",), _VENV)
"""What installs the dependencies of a `pyproject.toml` without a lock file."""

UNLOCKED_POETRY = PYTHON["poetry.lock"]._replace(inputs=("pyproject.toml",))
"""The same for one that Poetry alone can read."""

_PROJECTS = ("pyproject.toml", "package.json", "setup.py", "go.mod")

PROJECT_TEXTS = ("pyproject.toml", "package.json", "requirements.txt")
"""Files whose text says more of a project than that it is there."""

PROJECT_FILES = frozenset(
    {*_PROJECTS, *PYTHON, *NODE, "Pipfile", "pnpm-workspace.yaml", ".yarnrc.yml", "tsconfig.json"}
)
"""Files that say what a project is made of and what it depends on."""


def _other_requirements(folder: str, files: Collection[str]) -> str:
    """Return the one file of requirements under another name than the usual, "" for none."""
    inside = [basename(one) for one in files if dirname(one) == folder]
    found = [one for one in inside if _REQUIREMENTS.fullmatch(one)]
    return found[0] if len(found) == 1 else ""


_USUAL = "requirements.txt"
_REQUIREMENTS = re.compile(r"requirements[-_.](?!dev|test|lint|doc|ci\b)\w[\w.-]*\.txt")


def project_of(path: str, files: Collection[str]) -> tuple[str, SetUp | None]:
    """Return the folder that a program works in, and how its dependencies are installed.

    That is the nearest folder above it with a lock file, else with a project file, else its own.
    `files` are all tracked paths.
    """
    if path.endswith(".go"):
        root = next((one for one in folders_above(path) if join(one, "go.mod") in files), None)
        return dirname(path) if root is None else root, go_set_up(path, root or "", files)
    known = PYTHON if path.endswith(".py") else NODE
    for folder in folders_above(path):
        for lock, setup in known.items():
            if join(folder, lock) in files:
                inputs = tuple(one for one in setup.inputs if join(folder, one) in files)
                return folder, setup._replace(inputs=inputs)
    for folder in folders_above(path):
        if any(join(folder, one) in files for one in _PROJECTS):
            return folder, None
        if path.endswith(".py") and (name := _other_requirements(folder, files)):
            return folder, SetUp(("sh", "-c", _PIP.replace(_USUAL, name)), (name,), _VENV)
    return dirname(path), None


_REQUIRES = re.compile(r"^\s*(?:-[rc]|--requirement|--constraint)[ \t=]*([\w./-]+)", re.M)
_DEPENDS = re.compile(r"^dependencies\s*=\s*\[", re.M)
_OF_POETRY = re.compile(r"^\[tool\.poetry\.dependencies\]", re.M)
_OF_NODE = re.compile(r'"(?:devD|d)ependencies"\s*:\s*\{\s*"')
_MANAGER = re.compile(r'"packageManager"\s*:\s*"(npm|pnpm|yarn|bun)(@\d[\w.-]*)?')
_NEW_YARN = ("sh", "-c", "export YARN_NODE_LINKER=node-modules && yarn install --immutable")
_OF_YARN = "--package=@yarnpkg/cli-dist"
"""What npm calls a yarn since 2.4; its package `yarn` ends with 1."""

_ADDS = {
    "npm": "npm install --no-save",
    "pnpm": "pnpm add",
    "yarn": "yarn add",
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
    needed: Sequence[str] = ("tsx",),
) -> SetUp | None:
    """Return the set-up as the program at `path`, which works in `root`, needs it.

    `projects` are texts of project files, `imported` the packages that its files import, `needed`
    those that start a file of TypeScript.
    """
    if setup is None:
        setup = _unlocked(path, root, projects, files)
        if setup is None or path.endswith(".py"):
            return setup
    if setup.inputs == ("requirements.txt",):
        named = _REQUIRES.findall(projects.get(join(root, "requirements.txt"), ""))
        more = dict.fromkeys(normpath(one) for one in named if normpath(join(root, one)) in files)
        return setup._replace(inputs=(*setup.inputs, *more))
    if setup.creates != ("node_modules",):
        return setup
    run, inputs, creates = setup
    tool, own = run[0], projects.get(join(root, "package.json"), "")
    if tool == "yarn" and (join(root, ".yarnrc.yml") in files or _new_yarn(own)):
        folder = f"{join(root, '.yarn')}/"
        kept = (".yarn/**",) if any(one.startswith(folder) for one in files) else ()
        own_rc = (".yarnrc.yml",) if join(root, ".yarnrc.yml") in files else ()
        run, inputs = _NEW_YARN, (*inputs, *own_rc, *kept)
    workspace = '"workspaces"' in own or "pnpm-workspace.yaml" in inputs
    if workspace:
        inputs = (*inputs, "**/package.json", *_shared(root, projects, imported))
        within = _package_of(path, root, files)
        creates = (*creates, f"{within}/node_modules") if within and tool == "pnpm" else creates
    missing = " ".join(one for one in needed if f'"{one}"' not in own)
    if path.endswith((".ts", ".mts", ".tsx")) and missing and tool in _ADDS:
        added = f"{_ADDS[tool]} {missing}{' --workspace-root' * (workspace and tool == 'pnpm')}"
        begun = run[-1] if run[:2] == ("sh", "-c") else " ".join(run)
        run = ("sh", "-c", f"{begun} && {added}")
    return SetUp(run, inputs, creates)


def _unlocked(
    path: str, root: str, projects: Mapping[str, str], files: Collection[str]
) -> SetUp | None:
    """Return what installs a project without a lock file; None where it depends on nothing."""
    if not path.endswith(".py"):
        own = projects.get(join(root, "package.json"), "")
        named = _MANAGER.search(own)
        usual = "bun" if _OF_BUN.search(own) else "npm"
        run = (named[1] if named else usual, "install")
        return SetUp(run, ("package.json",), _MODULES) if _OF_NODE.search(own) else None
    own = projects.get(join(root, "pyproject.toml"), "")
    if _DEPENDS.search(own):
        kept = (".python-version",) if join(root, ".python-version") in files else ()
        return UNLOCKED._replace(inputs=(*UNLOCKED.inputs, *kept))
    return UNLOCKED_POETRY if _OF_POETRY.search(own) else None


_REQUIRED = re.compile(r"[\w.-]+")


def with_extras(setup: SetUp, project: str, imported: Collection[str]) -> SetUp:
    """Return a set-up of Python with the optional groups of a pyproject.toml of which a program
    imports a package that it does not depend on otherwise.
    """
    try:
        told = tomllib.loads(project).get("project", {})
        groups = {name: _packages(some) for name, some in told["optional-dependencies"].items()}
        needed = {one.partition(".")[0].lower() for one in imported}
        needed -= _packages(told.get("dependencies", []))
    except (tomllib.TOMLDecodeError, RecursionError, KeyError, TypeError, AttributeError):
        return setup
    names = [one for one, some in groups.items() if some & needed and one.isprintable()]
    run, option = setup.run, "--extras" if "poetry" in setup.run else "--extra"
    more = [word for one in sorted(names) for word in (option, one)]
    if more and (run[:2] == ("uv", "sync") or "poetry" in run):
        return setup._replace(run=(*run, *more))
    if more and run[-1].endswith("-r pyproject.toml"):
        return setup._replace(run=(*run[:-1], f"{run[-1]} {shlex.join(more)}"))
    return setup


def _packages(required: Iterable[str]) -> set[str]:
    """Return the packages of a list of requirements, spelled as modules are."""
    found = (_REQUIRED.match(str(one)) for one in required)
    return {one[0].lower().replace("-", "_") for one in found if one}


_OF_BUN = re.compile(
    r'"(?:@types/bun|bun-types)"|:\s*"bun (?:run |--hot |--watch |[\w./-]{1,200}\.[cm]?[jt]sx?\b)'
)
_OWN_BUN = ".tools/node_modules/.bin/bun"


def with_bun(
    setup: SetUp, command: tuple[str, ...], has: Callable[[str], bool]
) -> tuple[SetUp, tuple[str, ...]]:
    """Return a set-up and a command that need no bun which is not here: npm has it."""
    if setup.run[0] != "bun" or has("bun") or not has("npm"):
        return setup, command
    line = f"npm install --silent --prefix .tools bun && {_OWN_BUN} {shlex.join(setup.run[1:])}"
    made = setup._replace(run=("sh", "-c", line), creates=(*setup.creates, ".tools"))
    return made, (_OWN_BUN, *command[1:]) if command[:1] == ("bun",) else command


_TOOL = re.compile(r"(?:(?<=^)|(?<=&& ))(uv|poetry|pdm|pipenv|pnpm|yarn)(?= )")
_PNPM_LOCK = re.compile(r"^lockfileVersion: '?(\d+)", re.M)
_PNPM = {"5": 7, "6": 8, "9": 9}
"""Which pnpm wrote a lock file of this version."""

_OWN_TOOLS = "python3 -m venv .tools && .tools/bin/pip install --quiet {0}"


def with_tools(setup: SetUp, has: Callable[[str], bool], project: str = "") -> SetUp:
    """Return a set-up that needs no package manager which is not here, as far as that can be.

    `has` tells which programs are here, `project` is the text of a `package.json`, with how a lock
    file of pnpm begins.
    """
    run = setup.run
    before = run[:2] if run[0] == "env" else ()
    line = run[-1] if run[:2] == ("sh", "-c") else shlex.join(run[len(before) :])
    tool = next(iter(_TOOL.findall(line)), "")
    named = _MANAGER.search(project)
    version = (named[2] or "") if named and named[1] == tool else ""
    new = tool == "yarn" and bool(version) and _new_yarn(project)
    if not tool or (has(tool) and not new):  # the yarn that is here is the old one, as a rule
        return setup
    locked = _PNPM_LOCK.search(project)
    if tool == "pnpm" and not version and locked:
        version = f"@{_PNPM.get(locked[1], 9)}"
    if tool in {"pnpm", "yarn"}:
        wanted = f"{_OF_YARN}{version} yarn" if new else f"{tool}{version}"
        instead = f"npx --yes {wanted}" if has("npx") else ""
    else:
        instead = f"uvx {tool}" if has("uv") else f".tools/bin/{tool}"
    if not instead:
        return setup
    line = _TOOL.sub(instead, line)
    if instead.startswith(".tools"):
        line = f"{_OWN_TOOLS.format(tool)} && {line}"
    return setup._replace(run=("sh", "-c", f"{shlex.join(before)} {line}".strip()))


_GOES_ON = (
    (r"\bEUSAGE\b|package-lock\.json[^\n]* in sync", r"\bnpm ci\b", "npm install"),
    (r"\bERESOLVE\b", r"\bnpm (?:ci|install)\b(?! --)", r"\g<0> --legacy-peer-deps"),
    (r"ERR_PNPM_OUTDATED_LOCKFILE", "--frozen-lockfile", "--no-frozen-lockfile"),
    (r"lockfile (?:needs to be updated|had changes)", " --frozen-lockfile", ""),
    (r"lockfile would have been modified", "--immutable", "--no-immutable"),
    (
        r"changed significantly since poetry\.lock",
        r"^(?!.* lock )((?:.* )?\S*poetry) install",
        r"\1 lock -q && \1 install",
    ),
)
"""What package managers say where a lock file does not fit its project or packages not each other,
and what their commands become so that they go on, as their own advice is.
"""


def mended_set_up(setup: SetUp, lines: Iterable[str]) -> SetUp | None:
    """Return how a set-up goes on that failed as these lines tell; None where nobody knows."""
    said = "\n".join(lines)
    for tells, old, new in _GOES_ON:
        if not re.search(tells, said):
            continue
        in_shell = setup.run[:2] == ("sh", "-c")
        line = setup.run[-1] if in_shell else shlex.join(setup.run)
        if (changed := re.sub(old, new, line, count=1)) != line:
            plain = not in_shell and "&&" not in changed
            run = tuple(shlex.split(changed)) if plain else ("sh", "-c", changed)
            return setup._replace(run=run)
    return None


def _new_yarn(project: str) -> bool:
    """Whether a `package.json` names a yarn of a version since 2 as its package manager."""
    named = _MANAGER.search(project)
    return bool(named and named[1] == "yarn" and named[2] and not named[2].startswith("@1."))


def _shared(root: str, projects: Mapping[str, str], imported: Collection[str]) -> tuple[str, ...]:
    """Return patterns of the folders below `root` whose package is imported."""
    found = []
    for path, text in projects.items():
        folder = dirname(path)
        if path.endswith("package.json") and folder != root and _name(text) in imported:
            found.append(f"/{folder}/**")
    return tuple(sorted(found))


_INSTALLS = re.compile(
    r"^[ \t$>]*(?:(?:python[\d.]* -m )?(?:uv )?pip3? install|uv add)[ \t]+([^\n`#&|;]+)", re.M
)
_PACKAGE = re.compile(r"[A-Za-z][\w.-]*(?:\[[\w,. -]+\])?(?:[=<>~!]=?[\w.*]+)?")
_OF_TOOLS = frozenset({"pip", "uv", "setuptools", "wheel", "virtualenv"})
_MOST_TOLD = 24


def told_set_up(readme: str, text: str) -> SetUp | None:
    """Return what installs the packages that a README says to install by their names, if it does.

    It is the input: who needs another package says so there.
    """
    named: dict[str, None] = {}
    for line in _INSTALLS.findall(text):
        try:
            words = shlex.split(line)
        except ValueError:
            continue
        names = [one for one in words if one not in {"-U", "-q", "--upgrade", "--quiet"}]
        if all(map(_PACKAGE.fullmatch, names)):
            named |= dict.fromkeys(one for one in names if one not in _OF_TOOLS)
    if not named or len(named) > _MOST_TOLD:
        return None
    run = _PIP.replace("-r requirements.txt", " ".join(map(shlex.quote, named)))
    return SetUp(("sh", "-c", run), (readme,), _VENV)


_BY_PATH = re.compile(r"\bpath[ \t]*=[ \t]*[\"'](?:\./)?(\w[\w./-]*)[\"']")


def with_paths(setup: SetUp, root: str, project: str, files: Iterable[str]) -> SetUp:
    """Return a set-up that sees the packages below `root` that a pyproject.toml takes by path."""
    named = dict.fromkeys(one.rstrip("/") for one in _BY_PATH.findall(project))
    known = [one for one in files if one.startswith(f"{root}/" if root else "")]
    begins = {one: f"{join(root, one)}/" for one in named}
    here = [one for one in named if any(path.startswith(begins[one]) for path in known)]
    return setup._replace(inputs=(*setup.inputs, *(f"{one}/**" for one in here)))


_GROUPS = {
    "poetry": r"\bpoetry install\b[^\n`]{0,80}?(--all-extras|--(?:with|extras)[ =][\w,-]+)",
    "uv": r"\buv sync\b[^\n`]{0,80}?(--all-(?:extras|groups)|--(?:extra|group)[ =][\w-]+)",
}


def with_told_groups(setup: SetUp, readmes: Iterable[str]) -> SetUp:
    """Return a set-up by a lock file with the groups of packages that READMEs say to install."""
    tool = next((one for one in _GROUPS if one in setup.run), "")
    found = (re.search(_GROUPS[tool], text) for text in readmes if tool)
    told = next((re.split("[ =]", one[1], maxsplit=1) for one in found if one), [])
    known = not told or told[-1] in setup.run
    return setup if known else setup._replace(run=(*setup.run, *told))


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
    return value_at(whole, "name")


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


GUIDE = "docs/guides/dependencies.md"

_PYTHON = re.compile(r"ModuleNotFoundError: No module named '([A-Za-z_][\w.]{0,100})'")
_NODE = re.compile(r"Cannot find (?:module|package) '([@\w][\w./@-]{0,100})'")
_COMMAND = re.compile(
    r"\b([A-Za-z][\w.+-]{0,60}): command not found|: \d+: ([A-Za-z][\w.+-]{0,60}): not found"
)
"""How Python, Node and shells say what they lack; a module of Node's that begins with a dot or a
slash is a file of the program's own."""


def set_up_advice(lines: Iterable[str], cwd: str, tracked: Collection[str]) -> str:
    """Return what is missing and which `setup` installs it; empty if no line tells of that.

    `lines` is what the program printed, `cwd` where it worked, `tracked` all files of the revision.
    """
    for line in lines:
        if found := _PYTHON.search(line):
            return _sentence(f"The module {found[1].partition('.')[0]}", cwd, tracked, "x.py")
        if found := _NODE.search(line):
            return _sentence(f"The package {_package(found[1])}", cwd, tracked, "x.js")
        if found := _COMMAND.search(line):
            return _sentence(f"The command {found[1] or found[2]}", cwd, tracked, "x.py", "x.js")
    return ""


def passed_over_sentence(name: str, first: str, taken: str) -> str:
    """Say that users of their own cannot go to the program that is first on PATH."""
    instead = f"{taken} is taken" if taken else "they find none"
    return (
        f"Candidates have users of their own, which cannot go to {first}, the {quote(name)} that "
        f"is first on PATH, so {instead}, without what is installed there. Put it where every "
        "user can go (not below a closed home), or let `setup` install what the agent needs."
    )


_UNSEEN = re.compile(r"Permission denied: '(/[^'\n]{1,300})/pyvenv\.cfg'")
"""How Python says that it was started out of a virtual environment that it cannot see."""


def unseen_advice(lines: Iterable[str]) -> str:
    """Return how a virtual environment becomes visible; empty if no line tells of one."""
    found = next(filter(None, map(_UNSEEN.search, lines)), None)
    if found is None:
        return ""
    return (
        f"Candidates cannot see the virtual environment {quote(found[1])}: it lies in a home or "
        "among temporary files, and its `bin` is not on PATH. Put that on PATH where the gate is "
        "started, and all of it is visible; or let `setup` make one."
    )


_NO_METADATA = re.compile(r"PackageNotFoundError: No package metadata was found for (\S{1,100})")
"""How Python says that a project asks for its own version where only its files are."""


def project_advice(lines: Iterable[str]) -> str:
    """Return how a project itself is installed; empty if no line tells that it looked for that."""
    found = next(filter(None, map(_NO_METADATA.search, lines)), None)
    if found is None:
        return ""
    return (
        f"The package {found[1]} is not installed: a set-up that sees lock files alone installs "
        "what it depends on. Let `setup` install the project too (`uv pip install --no-deps .`), "
        "with its sources in `setup.inputs`."
    )


_READ_ONLY = re.compile(
    r"readonly database|unable to open database file|Read-only file system|EROFS|EACCES"
    r"|PermissionError: \[Errno 13\]|Permission denied",
    re.IGNORECASE,
)
"""How SQLite, the system, Node and Python say that a program may not write somewhere."""


def read_only_advice(lines: Iterable[str]) -> str:
    """Return where a program may write; empty if no line tells that it tried elsewhere, in what is
    read-only.
    """
    if not any(_READ_ONLY.search(line) for line in lines):
        return ""
    return (
        "If it meant to write there: what an agent works in is read-only, and its own folders are "
        "TMPDIR and HOME, empty at first. With `runtime.workdir: copy` each trial has a copy of "
        "its files that it may write. Or have it write to its own folders; what it changes (a "
        "database) is copied there first, or for each trial by `runtime.before`, into `{home}`."
    )


def _package(name: str) -> str:
    parts = name.split("/")
    return "/".join(parts[:2]) if name.startswith("@") else parts[0]


def _sentence(what: str, cwd: str, tracked: Collection[str], *programs: str) -> str:
    for program in programs:
        folder, setup = project_of(join(cwd, program), tracked)
        if setup is not None:
            there = "" if folder == cwd else f"cwd: {folder or '.'}, "
            return (
                f"{what} is not installed, and the Agent has no `setup`: write `{there}"
                f"setup: {shown(setup)}` under spec.runtime."
            )
    return (
        f"{what} is not installed, and the Agent has no `setup`: write one under spec.runtime that "
        f"installs it ({GUIDE} has one for each tool)."
    )


def shown(setup: SetUp) -> str:
    """Return a set-up as YAML on one line."""
    lists = (f"{key}: [{', '.join(map(_word, words))}]" for key, words in setup._asdict().items())
    return f"{{{', '.join(lists)}}}"


def _word(word: str) -> str:
    return word if re.fullmatch(r"[\w./@=-]+", word) else f'"{word}"'
