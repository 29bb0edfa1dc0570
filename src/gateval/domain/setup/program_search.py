"""Finds the programs of a repository that look like agents, the likeliest first."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import basename, dirname, join, normpath, relpath, splitext
from typing import NamedTuple

from gateval.domain.setup.declared import (
    DECLARING,
    ENV_EXAMPLES,
    LEAST,
    DeclaredAgent,
    declared_agents,
    environment_files,
    environment_of,
    leads,
    variables_of,
)
from gateval.domain.setup.libraries import framework_of, models_in
from gateval.domain.setup.no_edits import needs
from gateval.domain.setup.other_work import (
    STREAMS,
    does_other_work,
    fixed_port_of,
    names_other_work,
    page_of,
    template_of,
)
from gateval.domain.setup.program import (
    BUILT,
    FoundProgram,
    ImportGraph,
    Invocation,
    SetUp,
    folders_above,
    invocation_of,
    is_flask,
    is_go_entry,
    node_packages,
    python_modules,
    reads_arguments,
    roots_of,
    sees,
    server_of,
    shared_packages,
    streams_only,
)
from gateval.domain.setup.program_install import (
    PROJECT_TEXTS,
    fitted,
    project_of,
    with_itself,
)
from gateval.domain.strict_json import value_at

_GUARD = re.compile(r"^if __name__ == [\"']__main__[\"']", re.M)
_AT_TOP = re.compile(
    r"^(?!(?:async )?def |class |from |import |@|#)\S.*"
    r"(?:sys\.argv|\binput\(|sys\.stdin|parse_args\(\))"
    r"|^(?:asyncio\.run\(|sys\.exit\()?(?:main|cli|app)\(",
    re.M,
)
_BUILT = re.compile(r"^(?:dist|build|lib|out)/")
_SOURCES = (".ts", ".mts", ".tsx", ".js", ".mjs")


def has_guard(text: str) -> bool:
    """Whether a Python file does something only where it is started."""
    return bool(_GUARD.search(text))


def is_entry(path: str, text: str, behind: str = "") -> bool:
    """Whether a file is started: it says so, serves, or reads arguments or standard input.

    `behind` are the texts of the files that it imports.
    """
    if path.endswith(".go"):
        return is_go_entry(text)
    if server_of(path, text, behind):
        return True
    if path.endswith(".py"):
        return has_guard(text) or bool(_AT_TOP.search(text))
    return reads_arguments(text)


def declared(projects: Mapping[str, str], files: Container[str]) -> dict[str, str]:
    """Return the files that project files name as programs, each with its function ("" for all).

    `projects` are paths and texts of project files, `files` all tracked paths.
    """
    found: dict[str, str] = {}
    for path, text in projects.items():
        for target, function in (_of_python if path.endswith(".toml") else _of_node)(text):
            for candidate in _places(target):
                place = normpath(join(dirname(path), candidate))
                if place in files:
                    if not names_other_work(f"{function}."):
                        found.setdefault(place, function)
                    break
    return found


def _of_python(text: str) -> Iterator[tuple[str, str]]:
    try:
        whole = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    for table in (("project", "scripts"), ("tool", "poetry", "scripts")):
        for target in _words(value_at(whole, *table)):
            module, colon, function = target.partition(":")
            if colon and re.fullmatch(r"[\w.]+", module) and re.fullmatch(r"\w+", function):
                yield f"{module.replace('.', '/')}.py", function


def _of_node(text: str) -> Iterator[tuple[str, str]]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return
    start = value_at(whole, "scripts", "start")
    named = [value_at(whole, "bin"), value_at(whole, "main"), str(start or "").split()]
    yield from ((word, "") for one in named for word in _words(one) if splitext(word)[1])


def _places(target: str) -> Iterator[str]:
    """Give where the file may be: as named, below `src`, as a package, or before it was built."""
    yield target
    yield f"src/{target}"
    stem = splitext(target.removeprefix("./"))[0]
    if target.endswith(".py"):
        yield from (f"{stem}/__init__.py", f"src/{stem}/__init__.py")
        return
    for folder in ("src/", ""):
        yield from (f"{_BUILT.sub(folder, stem)}{ending}" for ending in _SOURCES)


def _words(value: object) -> list[str]:
    found = list(value.values()) if isinstance(value, dict) else value
    return [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, str)]


_RELATIVE = re.compile(r"^from[ \t]+\.", re.M)


class StartCommand(NamedTuple):
    """A command relative to the program's root, and the folder there that `PYTHONPATH` needs."""

    command: tuple[str, ...]
    modules_in: str = ""


def start_of(
    path: str,
    texts: tuple[str, str],
    root: str,
    imported: Collection[str],
    files: Collection[str],
    *,
    setup: SetUp | None,
    function: str = "",
) -> StartCommand:
    """Return how the program at `path` is started from its `root`.

    `texts` are its own and that of what it imports, `imported` the modules, `a.b` and the like,
    that it and the files below its folder import, `files` all tracked paths. `setup` installs what
    it needs, `function` is the one that its project file names.
    """
    if path.endswith(".go"):
        return StartCommand((BUILT,))
    file = relpath(path, root or ".")
    if path.endswith(".py"):
        base = import_root(file, texts[0], root, imported, files)
        set_up = setup is not None
        python = ".venv/bin/python" if set_up else "python3"
        application = server_of(file, *texts)
        is_main = basename(file) == "__main__.py" and dirname(file)
        called = function if not (application or is_main or has_guard(texts[0])) else ""
        if not application and not is_main and not called and base in {None, dirname(file)}:
            return StartCommand((python, file))
        place = base if base is not None else "src" if file.startswith("src/") else ""
        module = splitext(relpath(file, place or "."))[0].replace("/", ".")
        module = module.removesuffix(".__main__").removesuffix(".__init__")
        if called:
            words = f"from {module} import {called}; raise SystemExit({called}())"
            return StartCommand((python, "-c", words), place)
        if not application:
            return StartCommand((python, "-m", module), place)
        served = f"{module}:{application}"
        if is_flask("".join(texts)):
            return StartCommand(
                (python, "-m", "flask", "--app", served, "run", "--port", "{port}"), place
            )
        factory = ("--factory",) if application.endswith("()") else ()
        served = served.removesuffix("()")
        return StartCommand((python, "-m", "uvicorn", served, *factory, "--port", "{port}"), place)
    if setup is not None and setup.run[0] == "bun":
        return StartCommand(("bun", file))
    if path.endswith((".ts", ".mts", ".tsx")):
        # As a loader tsx needs no socket, whose path in a private TMPDIR may be too long.
        return StartCommand(("node", "--import", "tsx", file) if setup else ("tsx", file))
    return StartCommand(("node", file))


def import_root(
    file: str, text: str, root: str, imported: Collection[str], files: Collection[str]
) -> str | None:
    """Return the nearest folder from which an import of the program's own finds its file.

    None where no import tells: then the program may be started as a file.
    """
    if _RELATIVE.search(text):
        return dirname(dirname(file))
    modules = {step for path in files if path.endswith(".py") for step in _importable(path)}
    for folder in folders_above(file):
        if any(
            join(root, folder, *name.split(".")) in modules for name in imported if name[:1] != "."
        ):
            return folder
    return None


def _importable(path: str) -> Iterator[str]:
    """What an import may name of a file: itself, and each folder around it."""
    yield splitext(path)[0]
    yield from filter(None, folders_above(path))


ENDINGS = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".go")

_FILE_NAME = re.compile(r"[\w.-]+\.\w+")
"""What may be the name of a file that a program reads."""

_ELSEWHERE = re.compile(
    r"(?:^|/)(?:tests?|__tests__|testing|docs?|examples?|notebooks?|scripts?|migrations|evals?"
    r"|node_modules|dist|build|\.[^/]+)/|(?:^|/)(?:test_[^/]*|conftest\.py|setup\.py|[^/]*[._](?:test|spec)"
    r"\.\w+|[^/]*\.config\.\w+|[^/]*\.d\.ts)$"
)


@dataclass(frozen=True)
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
    variables: Mapping[str, tuple[str, ...]]
    environments: Mapping[str, tuple[str, ...]]

    @staticmethod
    def of(given: Mapping[str, str], files: Iterable[str]) -> RepositoryFiles:
        """Read texts by path, of programs and project files; `files` are all tracked paths."""
        texts = {path: text for path, text in given.items() if path.endswith(ENDINGS)}
        projects = {path: text for path, text in given.items() if basename(path) in PROJECT_TEXTS}
        declaring = {path: text for path, text in given.items() if basename(path) in DECLARING}
        variables = {
            path: variables_of(text, example=basename(path) in ENV_EXAMPLES)
            for path, text in given.items()
            if path in texts or basename(path) in ENV_EXAMPLES
        }
        environments = environment_files(declaring)
        for path, text in declaring.items():
            variables[path] = environment_of(path, text)
            listed = (one for one in environments.get(path, ()) if one in given)
            variables |= {one: variables_of(given[one], example=True) for one in listed}
        every = frozenset(files)
        hidden = roots_of("agents", every)  # a package of the repository's own may be called so
        frameworks = {
            path: framework_of(path, text, {"agents"} if sees(path, hidden, every) else ())
            for path, text in texts.items()
        }
        return RepositoryFiles(
            texts,
            projects,
            declaring,
            every,
            ImportGraph(texts),
            frameworks,
            {path: models_in(text) for path, text in texts.items()},
            {path: _imported(path, text) for path, text in texts.items()},
            {path: frozenset(_FILE_NAME.findall(text)) for path, text in texts.items()},
            declared(projects, every),
            variables,
            environments,
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
    """Whether a file says what a project needs and which programs or agents it has."""
    return basename(path) in {*PROJECT_TEXTS, *DECLARING, *ENV_EXAMPLES} and is_own(path)


def is_own(path: str) -> bool:
    """Whether a file may be a part of the agent: no test, example, build or hidden file."""
    return not _ELSEWHERE.search(path) and path.isprintable()


_TELLING = {"main", "agent", "app", "bot", "server", "index", "cli", "__main__", "run", "assistant"}
_PLAIN_SDKS = {"OpenAI SDK", "Anthropic SDK", "LiteLLM", "LangChain"}


def find_programs(
    texts: Mapping[str, str], files: Iterable[str], wanted: str = ""
) -> tuple[FoundProgram, ...]:
    """Return the programs among `texts` that look like agents, the likeliest first.

    `texts` are the files that are `worth_reading` or `tells_of_project`, `files` all tracked paths.
    A person names the program or `FILE:OBJECT` that is `wanted`. Where nothing says which files are
    started, those that import a framework are returned.
    """
    around = RepositoryFiles.of(texts, files)
    agents = declared_agents(
        around.texts,
        around.declaring,
        lambda path: around.frameworks[path],
        around.framework,
    )
    found = [_declared(one, around) for one in agents]
    if wanted:
        return (_wanted(wanted, found, around),)
    known = {
        path: name
        for path, text in around.texts.items()
        if not does_other_work(path, text) and (name := around.framework(path))
    }
    entries = [path for path in known if around.starts(path)]
    using = () if found else (path for path in known if around.frameworks[path])
    programs = [_program(path, known[path], around) for path in entries or using]
    found += _orchestrating(programs, found, around) if programs or found else _pages(around)
    return tuple(sorted(found, key=lambda one: (-one.score, one.path.count("/"), one.path)))


def _pages(around: RepositoryFiles) -> Iterator[FoundProgram]:
    """Yield the programs that draw a page around an agent."""
    for path, text in around.texts.items():
        why = page_of(text) if path.endswith(".py") and not names_other_work(path) else None
        if why and (framework := around.framework(path)):
            yield _program(path, framework, around)._replace(refused=why)


def _orchestrating(
    programs: Sequence[FoundProgram], agents: Sequence[FoundProgram], around: RepositoryFiles
) -> Iterator[FoundProgram]:
    """Yield the programs; one that asks several agents, of which none leads, comes first.

    One that another program imports comes after that, but for a server of a protocol.
    """
    best = max((one.score for one in agents), default=0)
    peers = {one.told: one.path for one in agents if one.score >= best - 1}
    led = len(peers) < 2 or any(leads(told.rpartition(":")[2]) for told in peers)
    behind = {one.path: set(around.reach.from_(one.path)) - {one.path} for one in programs}
    for one in programs:
        imported = any(one.path in others for others in behind.values())
        score = one.score + (1 if one.invocation.preset else -imported)
        asked = one.started and not one.invocation.route
        if asked and not led and set(peers.values()) <= behind[one.path]:
            score = max(score, best + 1)
        yield one._replace(score=score)


def _wanted(wanted: str, found: Sequence[FoundProgram], around: RepositoryFiles) -> FoundProgram:
    """Return what a person named: a program, a file that declares agents, or `FILE:OBJECT`."""
    path, _, name = wanted.partition(":")
    framework = around.framework(path) if path in around.texts else ""
    if not name and path in around.texts and around.starts(path):
        return _program(path, framework, around)
    meant = [one for one in found if one.told == wanted or (one.path == path and not name)]
    if meant:
        return max(meant, key=lambda one: one.score)
    if name:
        return _declared(DeclaredAgent(path, path, name, framework, (name,), LEAST), around)
    return _program(path, framework, around)


def _program(path: str, framework: str, around: RepositoryFiles) -> FoundProgram:
    text, behind = around.texts[path], around.behind(path)
    root, setup = _set_up(path, around)
    invocation = invocation_of(path, text, behind)
    modules = around.imported([path, *around.below(dirname(path))])
    start = start_of(
        path,
        (text, behind),
        root,
        modules,
        around.files,
        setup=setup,
        function=around.declared.get(path, ""),
    )
    program = FoundProgram(
        path=path,
        framework=framework,
        root=root,
        command=(*start.command, *invocation.words),
        modules_in=start.modules_in,
        invocation=invocation,
        setup=setup,
        include=(),
        models=(),
        score=_score(path, framework, setup, around),
        started=around.starts(path),
        names=(basename(root), splitext(basename(path))[0], _project_name(root, around)),
        refused=STREAMS
        if streams_only(path, text, behind)
        else template_of(path, text) or fixed_port_of(text),
    )
    return _with_surroundings(program, path, around)


def _declared(one: DeclaredAgent, around: RepositoryFiles) -> FoundProgram:
    stem = splitext(basename(one.file))[0]
    file = one.file if one.path.endswith(ENDINGS) else join(dirname(one.path), basename(one.file))
    root, setup = _set_up(file, around)
    if root and not one.path.startswith(f"{root}/"):
        root = dirname(one.path)
    while setup is None and root and join(root, "__init__.py") in around.files:
        root = dirname(root)
    program = FoundProgram(
        path=one.path,
        framework=one.framework,
        root=root,
        command=(),
        invocation=Invocation(),
        setup=setup,
        include=(),
        models=(),
        score=one.score,
        target=one.target(root),
        language="node" if one.file.endswith(_SOURCES) else "python",
        names=(*one.names, basename(root), _project_name(root, around), stem),
        refused=template_of(one.file, around.texts.get(one.file, "")),
    )
    return _with_surroundings(program, one.file, around)


def _with_surroundings(program: FoundProgram, path: str, around: RepositoryFiles) -> FoundProgram:
    """Return the program with what lies around its file: packages, data, models."""
    root, setup = program.root, program.setup
    inside = around.below(root)
    near = [*(around.reach.from_(path) if path in around.texts else ()), *inside]
    packages = {module.split(".")[0] for module in around.imported(inside)}
    shared = shared_packages(root, packages, around.files)
    if setup is not None:  # it sees shared packages, too: a lock file may name their folders
        setup = setup._replace(inputs=(*setup.inputs, *shared))
    named = frozenset().union(*(around.names[other] for other in inside))
    data = (other for other in around.files if not other.endswith(ENDINGS) and is_own(other))
    reads = sorted(other for other in data if basename(other) in named) if not root else ()
    examples = [join(folder, one) for folder in {root, ""} for one in ENV_EXAMPLES]
    told = [program.path, *around.environments.get(program.path, ())]
    read = [*near, *(path for path in [*told, *examples] if path in around.variables)]
    variables = dict.fromkeys(name for other in read for name in around.variables[other])
    return program._replace(
        setup=setup,
        include=shared,
        reads=tuple(reads),
        models=tuple(dict.fromkeys(model for other in near for model in around.models[other])),
        variables=tuple(variables),
        **needs(around.texts[other] for other in near if other in around.texts),
    )


_PROJECT_NAME = re.compile(r"^name\s*=\s*[\"']([^\"'\n]+)|^\s*\"name\":\s*\"([^\"\n]+)", re.M)


def _project_name(root: str, around: RepositoryFiles) -> str:
    """Return what the project in a folder calls itself, if it does."""
    for name in ("pyproject.toml", "package.json"):
        if found := _PROJECT_NAME.search(around.projects.get(join(root, name), "")):
            return (found[1] or found[2]).rpartition("/")[2]
    return ""


def _set_up(path: str, around: RepositoryFiles) -> tuple[str, SetUp | None]:
    """Return the folder that the program works in, and what installs its dependencies."""
    root, setup = project_of(path, around.files)
    inside = around.below(root)
    setup = fitted(setup, path, root, around.projects, around.imported(inside), around.files)
    if path.endswith(".py"):
        project = around.projects.get(join(root, "pyproject.toml"), "")
        own = (around.texts[other] for other in inside)
        setup = with_itself(setup, root, own, project, around.files)
    if setup is None and path.endswith(".py") and root == dirname(path) and path in around.texts:
        found = import_root(path, around.texts[path], "", around.modules[path], around.files)
        root = root if found is None else found
    return root, setup


def _score(path: str, framework: str, setup: SetUp | None, around: RepositoryFiles) -> int:
    stem = splitext(basename(path))[0].lower()
    named = stem in _TELLING or any(word in stem for word in ("agent", "bot", "assistant"))
    telling = framework not in _PLAIN_SDKS
    return 2 * named + 2 * telling + (setup is not None) + (path in around.declared)
