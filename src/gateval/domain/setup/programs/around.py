"""What the files of a repository say that bear on finding a program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from posixpath import basename

from gateval.domain.setup.programs.entering import declared, is_entry
from gateval.domain.setup.programs.frameworks import framework_of, models_in
from gateval.domain.setup.programs.importing import (
    Reach,
    node_packages,
    python_modules,
    roots_of,
    sees,
)
from gateval.domain.setup.programs.installing import PROJECT_TEXTS

ENDINGS = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".go")

_FILE_NAME = re.compile(r"[\w.-]+\.\w+")
"""What may be the name of a file that a program reads."""

_ELSEWHERE = re.compile(
    r"(?:^|/)(?:tests?|__tests__|testing|docs?|examples?|notebooks?|scripts?|migrations|evals?"
    r"|node_modules|dist|build|\.[^/]+)/|(?:^|/)(?:test_[^/]*|conftest\.py|setup\.py|[^/]*[._](?:test|spec)"
    r"\.\w+|[^/]*\.config\.\w+|[^/]*\.d\.ts)$"
)


@dataclass(frozen=True)
class Around:
    """What each file that was read says, and all tracked paths."""

    texts: Mapping[str, str]
    projects: Mapping[str, str]
    files: frozenset[str]
    reach: Reach
    frameworks: Mapping[str, str]
    models: Mapping[str, tuple[str, ...]]
    modules: Mapping[str, frozenset[str]]
    names: Mapping[str, frozenset[str]]
    declared: Mapping[str, str]

    @staticmethod
    def of(given: Mapping[str, str], files: Iterable[str]) -> Around:
        """Read texts by path, of programs and project files; `files` are all tracked paths."""
        texts = {path: text for path, text in given.items() if path.endswith(ENDINGS)}
        projects = {path: text for path, text in given.items() if path not in texts}
        every = frozenset(files)
        hidden = roots_of("agents", every)  # a package of the repository's own may be called so
        frameworks = {
            path: framework_of(path, text, {"agents"} if sees(path, hidden, every) else ())
            for path, text in texts.items()
        }
        return Around(
            texts,
            projects,
            every,
            Reach(texts),
            frameworks,
            {path: models_in(text) for path, text in texts.items()},
            {path: _imported(path, text) for path, text in texts.items()},
            {path: frozenset(_FILE_NAME.findall(text)) for path, text in texts.items()},
            declared(projects, every),
        )

    def below(self, folder: str) -> list[str]:
        """The files that were read in a folder, "" for the root."""
        return [path for path in self.texts if not folder or path.startswith(f"{folder}/")]

    def imported(self, paths: Iterable[str]) -> frozenset[str]:
        """The modules and packages that these files import."""
        return frozenset().union(*(self.modules[path] for path in paths))

    def behind(self, path: str) -> str:
        """The texts of the files that this one imports, and which these import."""
        return "\n".join(self.texts[one] for one in self.reach.from_(path) if one != path)

    def starts(self, path: str) -> bool:
        """Whether something says that the file is started by itself."""
        return path in self.declared or is_entry(path, self.texts[path], self.behind(path))

    def framework(self, path: str) -> str:
        """The framework that it imports, or the nearest of the files that it imports."""
        return next(filter(None, map(self.frameworks.get, self.reach.from_(path))), "")


def _imported(path: str, text: str) -> frozenset[str]:
    if path.endswith(".go"):
        return frozenset()
    return frozenset(python_modules(text) if path.endswith(".py") else node_packages(text))


def worth_reading(path: str) -> bool:
    """Whether a file may be an agent or a part of one, by its path."""
    return path.endswith(ENDINGS) and is_own(path)


def tells_of_project(path: str) -> bool:
    """Whether a file says what a project needs and which programs it has."""
    return basename(path) in PROJECT_TEXTS and is_own(path)


def is_own(path: str) -> bool:
    """Whether a file may be a part of the agent: no test, example, build or hidden file."""
    return not _ELSEWHERE.search(path) and path.isprintable()
