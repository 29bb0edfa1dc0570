"""Finds the programs of a repository that look like agents, the likeliest first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from posixpath import basename, dirname, splitext

from gateval.domain.setup.programs.asking import invocation_of, is_entry
from gateval.domain.setup.programs.found import FoundProgram, SetUp
from gateval.domain.setup.programs.frameworks import framework_of, models_in, python_modules
from gateval.domain.setup.programs.installing import project_of
from gateval.domain.setup.programs.needing import (
    file_names,
    files_read,
    shared_packages,
    with_shared,
)
from gateval.domain.setup.programs.starting import start_of

ENDINGS = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".go")

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
    modules: Mapping[str, frozenset[str]]
    names: Mapping[str, frozenset[str]]
    files: frozenset[str]

    @staticmethod
    def of(texts: Mapping[str, str], files: Iterable[str]) -> _Around:
        imported = {path: _modules(path, text) for path, text in texts.items()}
        models = {path: models_in(text) for path, text in texts.items()}
        names = {path: frozenset(file_names(text)) for path, text in texts.items()}
        return _Around(models, imported, names, frozenset(files))

    def below(self, folder: str) -> list[str]:
        """The files that were read in a folder, "" for the root."""
        return [path for path in self.models if not folder or path.startswith(f"{folder}/")]

    def imported(self, paths: Iterable[str]) -> frozenset[str]:
        """The modules that these files import."""
        return frozenset().union(*(self.modules[path] for path in paths))


def _modules(path: str, text: str) -> frozenset[str]:
    return frozenset(python_modules(text) if path.endswith(".py") else ())


def worth_reading(path: str) -> bool:
    """Whether a file may be an agent or a part of one, by its path."""
    return path.endswith(ENDINGS) and _is_own(path)


def _is_own(path: str) -> bool:
    return not _ELSEWHERE.search(path) and path.isprintable()


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
    inside = around.below(root)
    models = dict.fromkeys(model for other in [path, *inside] for model in around.models[other])
    invocation = invocation_of(path, text)
    modules = around.imported([path, *around.below(dirname(path))])
    start = start_of(path, text, root, modules, around.files, set_up=setup is not None)
    packages = {module.split(".")[0] for module in around.imported(inside)}
    shared = shared_packages(root, packages, around.files)
    named = frozenset().union(*(around.names[other] for other in inside))
    data = (other for other in around.files if not other.endswith(ENDINGS) and _is_own(other))
    return FoundProgram(
        path=path,
        framework=framework,
        root=root,
        command=(*start.command, *invocation.words),
        modules_in=start.modules_in,
        invocation=invocation,
        setup=with_shared(setup, shared),
        include=shared,
        reads=files_read(named, data) if not root else (),
        models=tuple(models),
        score=_score(path, framework, setup),
    )


def _score(path: str, framework: str, setup: SetUp | None) -> int:
    stem = splitext(basename(path))[0].lower()
    named = stem in _TELLING or any(word in stem for word in ("agent", "bot", "assistant"))
    return 2 * named + 2 * (framework not in _PLAIN_SDKS) + (setup is not None)
