"""The files of a repository that tell of its agents, and what is read off them once. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from posixpath import basename, dirname, join

from gateval.domain.setup.answering import acts_at_top, has_guard
from gateval.domain.setup.asked_by_words import reads_arguments, reads_input
from gateval.domain.setup.crews import CREW_FILES
from gateval.domain.setup.declared import DECLARING
from gateval.domain.setup.dev_servers import has_middlewares, is_config
from gateval.domain.setup.go_programs import is_go_entry
from gateval.domain.setup.import_graph import (
    ImportGraph,
    python_modules,
    roots_of,
    sees,
)
from gateval.domain.setup.libraries import (
    PLAIN_NAMES,
    framework_of,
    is_named,
    models_in,
    unknown_library,
)
from gateval.domain.setup.nest import is_nest
from gateval.domain.setup.node_imports import node_packages
from gateval.domain.setup.platforms import served_otherwise
from gateval.domain.setup.program import server_of
from gateval.domain.setup.program_install import PROJECT_TEXTS
from gateval.domain.setup.told_starts import TELLING, ToldStart, declared, is_readme, told_starts
from gateval.domain.setup.variables import (
    ENV_EXAMPLES,
    Examples,
    environment_files,
    environment_of,
    example_values,
    variables_of,
)


def is_entry(path: str, text: str, behind: str = "") -> bool:
    """Whether a file is started: it says so, serves, or reads arguments or standard input.

    `behind` are the texts of the files that it imports.
    """
    if path.endswith(".go"):
        return is_go_entry(text)
    if not path.endswith(".py"):  # whose `input(` is no question to a person
        text, behind = text.replace("input(", ""), behind.replace("input(", "")
    own = has_guard(text) if path.endswith(".py") else reads_arguments(text)
    if own or server_of(path, text, behind) or served_otherwise(path, text, behind):
        return True
    if is_nest(text) and "@Controller(" in behind:
        return True
    if path.endswith(".py"):
        return acts_at_top(text)
    return bool(_CALLED_AT_TOP.search(text)) and reads_input(behind)


_CALLED_AT_TOP = re.compile(r"^(?:void |await )?\w+(?:\.\w+)*\(.{0,200}\);?$", re.M)
"""How a file of Node starts what others define."""


ENDINGS = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".go")

FILE_NAME = re.compile(r"[\w.-]+\.\w+")
"""What may be the name of a file that a program reads."""

_ELSEWHERE = re.compile(
    r"(?:^|/)(?:tests?|__tests__|testing|docs?|examples?|notebooks?|scripts?|migrations|evals?"
    r"|node_modules|dist|build|\.[^/]+)/|(?:^|/)(?:test_[^/]*|conftest\.py|setup\.py|[^/]*[._](?:test|spec)"
    r"\.\w+|[^/]*\.config\.\w+|[^/]*\.d\.ts)$"
)


_EXAMPLES = re.compile(r"(?:^|/)(?:examples?|scripts)/")


@dataclass(frozen=True, eq=False)
class RepositoryFiles:
    """What each file that was read says, and all tracked paths."""

    texts: Mapping[str, str]
    projects: Mapping[str, str]
    declaring: Mapping[str, str]
    files: frozenset[str]
    reach: ImportGraph
    frameworks: Mapping[str, str]
    models: Mapping[str, tuple[str, ...]]
    modules: Mapping[str, frozenset[str]]
    names: Mapping[str, frozenset[str]]
    declared: Mapping[str, str]
    told: Mapping[str, ToldStart]
    variables: Mapping[str, tuple[str, ...]]
    environments: Mapping[str, tuple[str, ...]]
    examples: Mapping[str, Examples]
    readmes: Mapping[str, str]

    @staticmethod
    def of(given: Mapping[str, str], files: Iterable[str]) -> RepositoryFiles:
        """Read texts by path, of programs and project files; `files` are all tracked paths."""
        given = {
            path: text if path.endswith(_WHOLE) else _cut_runs(text) for path, text in given.items()
        }
        texts = {
            path: text
            for path, text in given.items()
            if path.endswith(ENDINGS) and (has_middlewares(text) or not is_config(path))
        }
        projects = {path: text for path, text in given.items() if basename(path) in PROJECT_TEXTS}
        named = {*DECLARING, *CREW_FILES}
        declaring = {path: text for path, text in given.items() if basename(path) in named}
        telling = {path: text for path, text in given.items() if basename(path) in TELLING}
        variables = {path: variables_of(text) for path, text in texts.items()}
        environments = environment_files(declaring)
        examples = {one for one in given if basename(one) in ENV_EXAMPLES}
        for path, text in declaring.items():
            variables[path] = environment_of(path, text)
            examples |= {one for one in environments.get(path, ()) if one in given}
        variables |= {one: variables_of(given[one], example=True) for one in examples}
        every = frozenset(files)
        hidden = {name: roots_of(name, every) for name in PLAIN_NAMES}  # may be packages of its own
        frameworks = {
            path: framework_of(
                path, text, {name for name in hidden if sees(path, hidden[name], every)}
            )
            for path, text in texts.items()
        }
        modules = {
            part
            for path in every
            if path.endswith(".py")
            for part in path.removesuffix(".py").split("/")
        }
        for path, text in texts.items():
            if path.endswith(".py") and not frameworks[path]:
                frameworks[path] = unknown_library(text, modules)
        return RepositoryFiles(
            texts,
            projects,
            declaring,
            every,
            ImportGraph(texts, projects),
            frameworks,
            {path: models_in(text) for path, text in texts.items()},
            {path: _imported(path, text) for path, text in texts.items()},
            {path: _names_in(text) for path, text in texts.items()},
            declared(projects, every),
            told_starts(telling, projects, every),
            variables,
            environments,
            {one: example_values(given[one]) for one in examples if _is_example(one)},
            {one: text for one, text in telling.items() if is_readme(one)},
        )

    def below(self, folder: str) -> list[str]:
        """The files that were read in a folder, "" for the root."""
        return [path for path in self.texts if not folder or path.startswith(f"{folder}/")]

    def imported(self, paths: Iterable[str]) -> frozenset[str]:
        """The modules and packages that these files import."""
        return frozenset().union(*(self.modules[path] for path in paths))

    def starts(self, path: str) -> bool:
        """Whether something says that the file is started by itself."""
        named = path in self.declared or path in self.told
        return named or is_entry(path, self.texts[path], self.reach.behind(path))

    def starts_apart(self, path: str) -> bool:
        """Whether a folder's Dockerfile alone starts it, beside what the README starts above."""
        readme = "\n".join(self.readmes.values())
        above = any("/" not in one and one in readme for one in self.told)
        own = "/" in path and join(dirname(path), "Dockerfile") in self.files
        return above and own and path not in readme

    def framework(self, path: str) -> str:
        """The framework that it imports, or the nearest of the files that it imports; a package
        that is only called like one where there is no other.
        """
        used = filter(None, map(self.frameworks.get, self.reach.followed(path)))
        first = next(used, "")
        return first if is_named(first) else next(filter(is_named, used), first)

    def asking(self, paths: Iterable[str]) -> frozenset[str]:
        """Those of the files that import a framework, or import files that do."""
        used = {path: self.framework(path) for path in paths}
        known = frozenset(path for path, name in used.items() if is_named(name))
        return known or frozenset(path for path, name in used.items() if name)

    def is_client(self, path: str) -> bool:
        """Whether a file asks what runs elsewhere over HTTP, and no framework."""
        whole = f"{self.texts[path]}\n{self.reach.behind(path)}"
        return not self.framework(path) and _REQUESTS.search(whole) is not None


_REQUESTS = re.compile(r"\b(?:requests|httpx)\.(?:get|post|request|stream)\(")
_WHOLE = (".json", ".toml", ".yaml", ".yml")
_LONG_RUN = re.compile(r"(?<!\s)\s{81,}|(?<!\S)\S{401,}")


def _cut_runs(text: str) -> str:
    """Return a text without the inner part of long words and blanks, which tell nothing, and at
    which patterns that look for more than one thing would take the square of their length.
    """
    return _LONG_RUN.sub(
        lambda run: run[0][:40] + run[0][-(40 if run[0].isspace() else 200) :], text
    )


def _is_example(path: str) -> bool:
    """Whether a file of an environment is an example, and nobody's own."""
    return basename(path) in ENV_EXAMPLES or not path.endswith(".env")


def _imported(path: str, text: str) -> frozenset[str]:
    if path.endswith(".go"):
        return frozenset()
    return frozenset(python_modules(text) if path.endswith(".py") else node_packages(text))


_LOOKS_FOR_ENV = re.compile(
    r"[\"']\.env[\"'](?=.{0,200}?\b(?:is_?file|exists)\()|\b(?:is_?file|exists)\([^()]{0,80}[\"']\.env[\"']",
    re.S,
)
"""How a program reads its variables from a file alone."""


def _names_in(text: str) -> frozenset[str]:
    """Return what in a text may be the names of files that it reads."""
    env = {".env"} if ".env" in text and _LOOKS_FOR_ENV.search(text) else set()
    return frozenset({*FILE_NAME.findall(text), *env})


def is_read(path: str, *, examples: bool = False) -> bool:
    """Whether a file tells of agents or programs by its path; `examples` do not as a rule."""
    own = _EXAMPLES.sub("/", path) if examples else path
    return worth_reading(own) or tells_of_project(own)


def worth_reading(path: str) -> bool:
    """Whether a file may be an agent or a part of one, by its path."""
    return path.endswith(ENDINGS) and is_own(path)


def tells_of_project(path: str) -> bool:
    """Whether a file says what a project needs, which programs it has and how they are started."""
    names = {*PROJECT_TEXTS, *DECLARING, *CREW_FILES, *ENV_EXAMPLES, *TELLING}
    return basename(path) in names and is_own(path)


def is_own(path: str) -> bool:
    """Whether a file may be a part of the agent: no test, example, build or hidden file."""
    own = not _ELSEWHERE.search(path.replace("vite.config.", "vite."))
    return own and path.isprintable()
