"""Finds the programs of a repository that look like agents, the likeliest first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from posixpath import basename, dirname, relpath, splitext

from gateval.domain.setup.programs.asking import (
    invocation_of,
    is_entry,
    is_flask,
    server_of,
)
from gateval.domain.setup.programs.found import FoundProgram, SetUp
from gateval.domain.setup.programs.frameworks import framework_of, models_in, python_modules
from gateval.domain.setup.programs.installing import project_of

ENDINGS = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx")

_ELSEWHERE = re.compile(
    r"(?:^|/)(?:tests?|__tests__|testing|docs?|examples?|notebooks?|scripts?|migrations|evals?"
    r"|node_modules|dist|build|\.[^/]+)/|(?:^|/)(?:test_[^/]*|conftest\.py|setup\.py|[^/]*[._](?:test|spec)"
    r"\.\w+|[^/]*\.config\.\w+|[^/]*\.d\.ts)$"
)
_TELLING = {"main", "agent", "app", "bot", "server", "index", "cli", "__main__", "run", "assistant"}
_PLAIN_SDKS = {"OpenAI SDK", "Anthropic SDK", "LiteLLM", "LangChain"}


@dataclass(frozen=True)
class _Around:
    """What each file that was read names, and all tracked paths."""

    models: Mapping[str, tuple[str, ...]]
    packages: Mapping[str, frozenset[str]]
    files: frozenset[str]

    @staticmethod
    def of(texts: Mapping[str, str], files: Iterable[str]) -> _Around:
        imported = {path: _packages(path, text) for path, text in texts.items()}
        models = {path: models_in(text) for path, text in texts.items()}
        return _Around(models, imported, frozenset(files))


def _packages(path: str, text: str) -> frozenset[str]:
    modules = python_modules(text) if path.endswith(".py") else set()
    return frozenset(module.split(".")[0] for module in modules)


def worth_reading(path: str) -> bool:
    """Whether a file may be an agent or a part of one, by its path."""
    return path.endswith(ENDINGS) and not _ELSEWHERE.search(path) and path.isprintable()


def find_programs(texts: Mapping[str, str], files: Iterable[str]) -> tuple[FoundProgram, ...]:
    """Return the programs among `texts` that look like agents, the likeliest first.

    `texts` are the files that are `worth_reading`, `files` all tracked paths.
    """
    around = _Around.of(texts, files)
    frameworks = {path: name for path, text in texts.items() if (name := framework_of(path, text))}
    found = [
        _program(path, text, framework, around)
        for path, text in texts.items()
        if is_entry(path, text) and (framework := _behind(path, text, frameworks))
    ]
    return tuple(sorted(found, key=lambda one: (-one.score, one.path.count("/"), one.path)))


def _behind(path: str, text: str, frameworks: Mapping[str, str]) -> str:
    """Return the framework of an entry: its own, or that of a file that it imports by name."""
    if path in frameworks:
        return frameworks[path]
    for other, framework in sorted(frameworks.items()):
        stem = splitext(basename(other))[0]
        name = basename(dirname(other)) if stem in {"__init__", "index"} else stem
        if splitext(other)[1][:3] == splitext(path)[1][:3] and re.search(
            rf"\b(?:from|import|require)\b[^\n]*\b{re.escape(name)}\b", text
        ):
            return framework
    return ""


def _program(path: str, text: str, framework: str, around: _Around) -> FoundProgram:
    root, setup = project_of(path, around.files)
    inside = [other for other in around.models if not root or other.startswith(f"{root}/")]
    models = dict.fromkeys(model for other in [path, *inside] for model in around.models[other])
    invocation = invocation_of(path, text)
    return FoundProgram(
        path=path,
        framework=framework,
        root=root,
        command=(*_command(path, text, root, setup, around.files), *invocation.words),
        invocation=invocation,
        setup=setup,
        include=_shared(inside, root, around),
        models=tuple(models),
        score=_score(path, framework, setup),
    )


def _score(path: str, framework: str, setup: SetUp | None) -> int:
    stem = splitext(basename(path))[0].lower()
    named = stem in _TELLING or any(word in stem for word in ("agent", "bot", "assistant"))
    return 2 * named + 2 * (framework not in _PLAIN_SDKS) + (setup is not None)


def _command(
    path: str, text: str, root: str, setup: SetUp | None, files: frozenset[str]
) -> tuple[str, ...]:
    file = relpath(path, root or ".")
    if path.endswith(".py"):
        python = ".venv/bin/python" if setup else "python3"
        module = splitext(file)[0].replace("/", ".").removeprefix("src.")
        application = server_of(path, text)
        served = f"{module}:{application}"
        if application and is_flask(text):
            return (python, "-m", "flask", "--app", served, "run", "--port", "{port}")
        if application:
            return (python, "-m", "uvicorn", served, "--port", "{port}")
        if _is_package_main(file) and f"{dirname(path)}/__init__.py" in files:
            return (python, "-m", dirname(file).replace("/", ".").removeprefix("src."))
        return (python, file)
    if path.endswith((".ts", ".mts", ".tsx")):
        return ("node_modules/.bin/tsx" if setup else "tsx", file)
    return ("node", file)


def _is_package_main(file: str) -> bool:
    """Whether a file is what `python -m PACKAGE` starts."""
    return basename(file) == "__main__.py"


def _shared(inside: Iterable[str], root: str, around: _Around) -> tuple[str, ...]:
    """Return patterns of the repository's own packages outside `root` that are imported."""
    if not root:
        return ()
    wanted = {module for path in inside for module in around.packages[path]}
    folders = set()
    for path in around.files:
        folder = dirname(path)
        outside = not f"{folder}/".startswith(f"{root}/")
        if outside and basename(path) == "__init__.py" and basename(folder) in wanted:
            folders.add(_project_folder(folder, around.files))
    return tuple(f"/{folder}/**" for folder in sorted(folders))


def _project_folder(folder: str, files: frozenset[str]) -> str:
    """Return the project that a package belongs to: the folder with a project file, else itself."""
    above = folder
    while above:
        if f"{above}/pyproject.toml" in files or f"{above}/setup.py" in files:
            return above
        above = dirname(above)
    return folder
