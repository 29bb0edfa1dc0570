"""Finds the programs of a repository that look like agents, the likeliest first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import basename, dirname, join, relpath, splitext

from gateval.domain.setup.aiohttp_routes import aiohttp_route
from gateval.domain.setup.answering import answering_functions, has_guard, names_a_file
from gateval.domain.setup.asked_by_words import (
    arguments_of,
    asked_by_words,
    reads_arguments,
    reads_input,
    starting_command,
)
from gateval.domain.setup.channels import channel_of
from gateval.domain.setup.declared import LEAST, DeclaredAgent, declared_agents, leads
from gateval.domain.setup.express import with_mounts
from gateval.domain.setup.framework_routes import of_framework
from gateval.domain.setup.import_graph import shared_packages
from gateval.domain.setup.invocation import QUESTION, Invocation
from gateval.domain.setup.libraries import OVER_HTTP
from gateval.domain.setup.nest import NEEDED, is_nest, nest_asked
from gateval.domain.setup.no_edits import needs
from gateval.domain.setup.node_servers import asked_as_handled
from gateval.domain.setup.openapi import SOME_TEXT, is_looked_after
from gateval.domain.setup.other_work import (
    AZURE,
    FOREIGN,
    MUTE,
    NOTEBOOKS,
    OTHER_ENDINGS,
    SILENT,
    STREAMS,
    UNKNOWN,
    UNSTARTED,
    Refusal,
    does_other_work,
    is_aside,
    names_other_work,
    page_of,
    template_of,
)
from gateval.domain.setup.platforms import (
    FILE,
    LOGIN,
    PLATFORM,
    asks_a_model,
    begun_by,
    is_handler,
    served_otherwise,
    without_question,
)
from gateval.domain.setup.program import (
    FoundProgram,
    SetUp,
    invocation_of,
    is_asked,
    is_flask,
    server_of,
    streams_only,
    takes_otherwise,
)
from gateval.domain.setup.program_install import fitted, project_of, told_set_up, with_itself
from gateval.domain.setup.protocols import at_port, hosted, node_at_port, starts_itself
from gateval.domain.setup.repository_files import (
    ENDINGS,
    RepositoryFiles,
    is_own,
)
from gateval.domain.setup.request_models import asked_as_written
from gateval.domain.setup.start_command import import_root, start_of
from gateval.domain.setup.told_starts import NODE_SOURCES
from gateval.domain.setup.variables import ENV_EXAMPLES


def not_read(files: Iterable[str]) -> tuple[str, Refusal] | None:
    """Return why nothing here was found, with the file that tells, where there are notebooks or
    programs; `files` are all tracked paths.
    """
    own = sorted(filter(is_own, files), key=lambda path: (path.count("/"), path))
    own = [
        one for one in own if not (names_other_work(one) or basename(one).startswith("."))
    ] or own
    own.sort(key=lambda path: splitext(basename(path))[0].lower() not in _TELLING)
    for endings, why in ((".ipynb", NOTEBOOKS), (ENDINGS, UNKNOWN), (OTHER_ENDINGS, FOREIGN)):
        if path := next((one for one in own if one.endswith(endings)), ""):
            return path, why
    return None


_DECLARED = 30
"""The score of what a framework declares by its name, as a root agent, is no less."""

_TELLING = {"main", "agent", "app", "bot", "server", "index", "cli", "__main__", "run", "assistant"}
_STATES = "StateGraph("
_LEADS = re.compile(r"coordinat|orchestrat|supervis|(?<!un)manager$")
"""How a program is called that hands on to others."""

_PLAIN_SDKS = {OVER_HTTP, "OpenAI SDK", "Anthropic SDK", "LiteLLM", "LangChain"}


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
    places = {one.path: around.told[one.path].place for one in found if one.path in around.told}
    first = min(places, key=places.__getitem__, default="")
    found = [
        one._replace(score=one.score + (one.path in places) + (one.path == first)) for one in found
    ]
    if wanted:
        return (_wanted(wanted, found, around),)
    known = {
        path: name
        for path, text in around.texts.items()
        if not does_other_work(path, text) and (name := around.framework(path))
    }
    entries = [path for path in known if around.starts(path)]
    programs = [_answering(_program(path, known[path], around), around) for path in entries]
    asked = [one for one in programs if one.refused != MUTE]
    if asked or found:
        found += _orchestrating(asked, found, around)
    else:
        found = [*_pages(around), *_functions(known, around), *_handlers(around)]
        found = found or programs or _unstarted(known, around) or _own_models(around)
    best = max((one.score for one in found if one.refused is None), default=0)
    if 0 < best < _DECLARED + 10 and (page := _told_page(found, around)):
        return (page,)
    found = [_with_cause(one, around, found) for one in found]
    last = len(around.told)
    order = {one.path: places.get(one.path, last) for one in found}
    found.sort(key=lambda one: (-one.score, order[one.path], one.path.count("/"), one.path))
    return tuple(found)


def _answering(program: FoundProgram, around: RepositoryFiles) -> FoundProgram:
    """Return the program, or a function of it that takes the question where the program takes none.

    It is refused where there is neither.
    """
    text = around.texts[program.path]
    asked, behind = program.invocation, around.reach.behind(program.path)
    if asked.sure or asked.words or asked.route or program.refused or reads_input(behind):
        return program
    for path in around.reach.from_(program.path):
        if not path.endswith(".py") or (path == program.path and not has_guard(text)):
            continue
        for name in () if does_other_work(path, "") else answering_functions(around.texts[path]):
            names = (splitext(basename(path))[0], name)
            one = DeclaredAgent(path, path, name, program.framework, names, program.score)
            return _declared(one, around)
    return program._replace(refused=MUTE)


def _with_cause(
    program: FoundProgram, around: RepositoryFiles, programs: Sequence[FoundProgram]
) -> FoundProgram:
    """Return the program; one that takes no question here is refused by where it takes them, and
    comes after what can be asked in another folder.
    """
    if program.refused not in {MUTE, UNSTARTED, SILENT} or program.path not in around.texts:
        return program
    near = "\n".join(around.texts[one] for one in around.below(program.root))
    others = (one.score for one in programs if one.refused is None and one.root != program.root)
    score = min(program.score, *(score - 1 for score in others), program.score)
    return program._replace(refused=channel_of(near) or program.refused, score=score)


def _own_models(around: RepositoryFiles) -> list[FoundProgram]:
    """Return the program that is asked elsewhere, as on a page or over WebSocket, or that answers
    by a model of its own, if there is one.
    """
    for path, text in sorted(around.texts.items(), key=lambda one: (one[0].count("/"), one[0])):
        why = channel_of(text, models=True) or page_of(text)
        why = why or (STREAMS if streams_only(path, text, "") else None)
        if why and not names_other_work(path):
            return [_program(path, "", around)._replace(refused=why)]
    return []


def _unstarted(known: Mapping[str, str], around: RepositoryFiles) -> list[FoundProgram]:
    """Return the file that tells most of a library, as one that is no agent."""
    using = [path for path in known if around.frameworks[path]]
    made = [
        _program(one, known[one], around)._replace(
            refused=template_of(one, around.texts[one]) or UNSTARTED
        )
        for one in using
    ]
    return sorted(made, key=lambda one: -one.score)[:1]


_AZURE = re.compile(r"\bapp\.(?:http|post)\(\s*[\"'`]\w")


def _functions(known: Mapping[str, str], around: RepositoryFiles) -> Iterator[FoundProgram]:
    """Yield the handlers of Azure Functions that ask a model."""
    for path, framework in known.items():
        handles = "@azure/functions" in around.modules[path] and _AZURE.search(around.texts[path])
        if handles:
            yield _program(path, framework, around)._replace(refused=AZURE)


def _handlers(around: RepositoryFiles) -> Iterator[FoundProgram]:
    """Yield the handler of a platform that asks a model, the one called as an agent is first."""
    found = [
        path
        for path, text in around.texts.items()
        if is_handler(text)
        and not does_other_work(path, text)
        and (around.framework(path) or asks_a_model(f"{text}\n{around.reach.behind(path)}"))
    ]
    for path in sorted(found, key=lambda one: (not is_asked(one), one))[:1]:
        yield _program(path, around.framework(path), around)._replace(refused=PLATFORM)


def _pages(around: RepositoryFiles) -> Iterator[FoundProgram]:
    """Yield the programs that draw a page around an agent."""
    for path, text in around.texts.items():
        why = page_of(text) if not names_other_work(path) else None
        if why and (framework := around.framework(path)):
            yield _program(path, framework, around)._replace(refused=why)


def _told_page(programs: Sequence[FoundProgram], around: RepositoryFiles) -> FoundProgram | None:
    """Return the page, no client, that alone people are told to start and asks none of these."""
    drawn = (one for one in around.told if one in around.texts and not around.is_client(one))
    pages = {one: why for one in drawn if (why := page_of(around.texts[one]))}
    near = {one for path in pages for one in around.reach.from_(path)}
    if not pages or len(pages) < len(around.told) or any(one.path in near for one in programs):
        return None
    one = min(pages, key=lambda each: around.told[each].place)
    return _program(one, around.framework(one), around)._replace(refused=pages[one])


def _orchestrating(
    programs: Sequence[FoundProgram], agents: Sequence[FoundProgram], around: RepositoryFiles
) -> Iterator[FoundProgram]:
    """Yield the programs; one that asks several agents, of which none leads, comes first.

    One that another program imports comes after that, but for a server of a protocol. A server
    that people are told to start words what it asks its agents, and comes before them.
    """
    best = max((one.score for one in agents), default=0)
    peers = {one.told: one.path for one in agents if one.score >= best - 1}
    led = len(peers) < 2 or any(leads(told.rpartition(":")[2]) for told in peers)
    lone = best < _DECLARED and not any(leads(told.rpartition(":")[2]) for told in peers)
    behind = {one.path: set(around.reach.from_(one.path)) - {one.path} for one in programs}
    own = {one.path for one in programs if one.invocation.route and _has_application(one, around)}
    starters = {one.path for one in programs if one.invocation.route} - own
    for one in programs:
        started = [other for other in programs if other.path in own & behind[one.path]]
        imported = any(one.path in others - starters for others in behind.values())
        score = one.score + (1 if one.invocation.preset else -imported)
        if one.path in starters and started:  # what serves is asked, not what starts it
            score = min(score, *(other.score - 2 for other in started))
        asked = one.started and one.invocation.sure and not one.invocation.route
        near = set(peers.values()) & {one.path, *behind[one.path]}
        reached = near - {one.path}
        told = _is_told(one.path, peers, around, lone=lone, reached=bool(reached))
        if asked and ((told and best < _DECLARED) or (not led and reached == set(peers.values()))):
            score = max(score, best + 1)
        serves = one.invocation.route and one.invocation.sure and one.refused is None
        made = all(told.endswith("()") for told in peers)  # by functions, which it calls
        entered = one.invocation.route == "/invocations" and one.path in near
        begun = entered or any(one.path in {path, *behind.get(path, ())} for path in around.told)
        aside = (one.path in starters and started) or around.starts_apart(one.path)
        if serves and best < _DECLARED and not aside and ((reached and made) or (near and begun)):
            score = max(score, best + 1)
        spoken = one.invocation.preset == "a2a" and (begun or one.path in around.declared)
        spoken = spoken or entered
        if serves and spoken and near and not aside:  # what people start is more than its agent
            score = max(score, best + 1)
        if best and around.starts_apart(one.path):
            score = min(score, best - 1)
        yield one._replace(score=score)


def _is_told(
    path: str, peers: Mapping[str, str], around: RepositoryFiles, *, lone: bool, reached: bool
) -> bool:
    """Whether people are told to start the program rather than the agents that were found: a
    command with a sentence, or for one that asks the agents, of which none leads or all are graphs,
    whose state it fills, any. Where all of them are classes, the name of a command will do.
    """
    told = around.told.get(path)
    classes = all(one.rpartition(":")[2][:1].isupper() for one in peers)
    if classes and (path in around.declared or (told and told.words)):
        return True
    graphs = all(_STATES in around.texts.get(one, "") for one in peers.values())
    return reached and bool(told and (lone or told.words or graphs))


def _has_application(program: FoundProgram, around: RepositoryFiles) -> bool:
    path = program.path
    return bool(server_of(path, around.texts[path], around.reach.behind(path)))


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


_PLACE = re.compile(r"/(?::\w|<\w)")
"""Where a path of Node or Flask has the number of what an earlier request made."""


def _asked(path: str, around: RepositoryFiles) -> tuple[Invocation, Refusal | None]:
    """Return how a program is asked, and why it cannot be, if so."""
    text, behind = around.texts[path], around.reach.behind(path)
    python = path.endswith((".py", ".go"))
    asked, silent = (invocation_of(path, text, behind), None) if python else _of_node(path, around)
    if asked.login and not path.endswith(".py"):
        return asked, LOGIN
    if " " in asked.begun:
        return asked, begun_by(*reversed(asked.begun.split(" ", 1)))
    place = None if path.endswith(".py") else _PLACE.search(asked.begun or asked.route)
    if place:
        return asked, begun_by((asked.begun or asked.route)[: place.start()])
    if not (is_nest(text) and asked.route) and streams_only(path, text, behind):
        return asked, STREAMS
    refused = template_of(path, text) or served_otherwise(path, text, behind) or silent
    if not asked.route:
        asked, why = (asked, None) if refused else _by_words(path, asked, around)
        return asked, refused or why
    if asked.preset or hosted(path, text) or not path.endswith(".py"):
        return asked, refused
    if aiohttp_route(f"{text}\n{behind}"):
        return asked, refused or (None if asked.sure else SILENT)
    if asked.route == "/invocations":
        return asked, refused or (None if asked.field else without_question(asked.body))
    return _as_written(path, asked, refused, around)


def _of_node(path: str, around: RepositoryFiles) -> tuple[Invocation, Refusal | None]:
    """Return the same of a program of Node, a server by its handlers; refused is one of NestJS that
    takes no question.
    """
    near = with_mounts({one: around.texts[one] for one in around.reach.from_(path)})
    text, behind = near[path], "\n".join(near[one] for one in near if one != path)
    asked = invocation_of(path, text, behind)
    asking = frozenset(one for one in near if around.framework(one))
    if is_nest(text):
        known = nest_asked(near, asking)
        return known or asked, None if known else SILENT
    if asked.route and not asked.preset:
        known = of_framework(text, behind) or asked_as_handled(near, asking)
        return known or asked, None if known else SILENT
    return asked, None


def _as_written(
    path: str, asked: Invocation, refused: Refusal | None, around: RepositoryFiles
) -> tuple[Invocation, Refusal | None]:
    """Return the same of a server of Python, as its handlers and their models say."""
    text, behind = around.texts[path], around.reach.behind(path)
    reached = around.reach.from_(path)
    asking = frozenset(one for one in reached if around.framework(one))
    written = asked_as_written({one: around.texts[one] for one in reached}, asking)
    otherwise = is_looked_after(asked.route) or takes_otherwise(f"{text}\n{behind}", asked.route)
    asks = is_asked(asked.route) and not otherwise
    silent = written is None and ("{" in asked.route or not (is_flask(text) or asks))
    if written is None and (place := _PLACE.search(asked.route)):
        return asked, begun_by(asked.route[: place.start()])
    if written and (written.login or written.begun):
        refused = refused or (LOGIN if written.login else begun_by(written.begun))
    return written or asked, refused or (SILENT if silent else None)


def _by_words(
    path: str, asked: Invocation, around: RepositoryFiles
) -> tuple[Invocation, Refusal | None]:
    """Return how a command is asked: as people are shown it, by a sentence or, where the program
    takes none, by a file that is there; and why it cannot be, if so.
    """
    told = around.told.get(path)
    words, file = (told.words, told.file) if told else ((), "")
    if words and not file:
        return Invocation(words=words, stdin=""), None
    if not asked.sure and not asked.words and not reads_arguments(around.texts[path]):
        behind = (around.texts[one] for one in around.reach.from_(path))
        asked = next((asked_by_words("", one) for one in behind if reads_input(one)), asked)
    names = arguments_of(path, around.texts[path])
    files = [one for one in names if names_a_file(one)]
    meant = any(re.search(QUESTION, one) for one in names if one not in files)
    placed = asked.words and not any(one.startswith("-") for one in asked.words)
    if meant or not (files or file) or (asked.sure and not (placed and names)):
        return asked, None
    shown = relpath(file, _set_up(path, around)[0] or ".") if words else ".."
    if shown.startswith(".."):
        return asked, FILE
    return Invocation(words=words, stdin="", file=shown), None


def _program(path: str, framework: str, around: RepositoryFiles) -> FoundProgram:
    text, behind = around.texts[path], around.reach.behind(path)
    root, setup = _set_up(path, around)
    if setup is None and path.endswith(".py"):
        setup = _told_set_up(root, around)
    invocation, refused = _asked(path, around)
    modules = around.imported([path, *around.below(dirname(path))])
    application = server_of(path, text, behind)
    begins = starting_command(path, text) if invocation.route else None
    by_word = begins and (not application or "global " in begins.text)  # what handlers read
    start = start_of(
        path,
        text,
        root,
        modules,
        around.files,
        setup=setup,
        function=around.declared.get(path, ""),
        application="" if by_word else application,
        flask=is_flask(f"{text}{behind}"),
    )
    command = start.command
    if begins and by_word:
        command = at_port(begins.text, (*command, begins.name))
    elif hosted(path, text) or (invocation.route and starts_itself(path, text) and not application):
        command = at_port(text, command)
    if invocation.route and "node" in command:
        command = node_at_port(f"{text}\n{behind}\n{' '.join(command)}", command)
    program = FoundProgram(
        path=path,
        framework=framework,
        root=root,
        command=(*command, *invocation.words),
        modules_in=start.modules_in,
        invocation=invocation,
        setup=setup,
        include=(),
        models=(),
        score=_score(path, framework, setup, around) - 3 * (f"/{SOME_TEXT}/" in invocation.route),
        started=around.starts(path),
        hinted=path in around.told,
        names=(basename(root), splitext(basename(path))[0], _project_name(root, around)),
        refused=refused,
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
    if setup is None and one.file.endswith(".py"):
        setup = _told_set_up(root, around)
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
        inputs=one.inputs,
        more=one.more,
        target=one.target(root),
        language="node" if one.file.endswith(NODE_SOURCES) else "python",
        names=(*one.names, basename(root), _project_name(root, around), stem),
        refused=one.refused or template_of(one.file, around.texts.get(one.file, "")),
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
    named |= {basename(program.invocation.file)}
    served = _DIRECTORY.findall("\n".join(around.texts[other] for other in inside))
    folders = tuple(f"{one.strip('./')}/" for one in served)
    kept = [one for one in data if basename(one) in named or one.startswith(folders)]
    code = (one for one in around.files if one.endswith(".py") and not is_own(one))
    kept += [one for one in code if one.split("/")[0] in packages]
    reads = sorted(kept) if not root else ()
    examples = [join(folder, one) for folder in dict.fromkeys(["", root]) for one in ENV_EXAMPLES]
    told = [program.path, *around.environments.get(program.path, ())]
    read = [*near, *(path for path in [*told, *examples] if path in around.variables)]
    variables = dict.fromkeys(name for other in read for name in around.variables[other])
    variables = {one: None for one in variables if one not in dict(program.invocation.env)}
    given = [around.examples[one] for one in read if one in around.examples]  # the nearest last
    plain = {name: value for one in given for name, value in one.plain.items()}
    addresses = {name: value for one in given for name, value in one.addresses.items()}
    return program._replace(
        setup=setup,
        include=shared,
        reads=tuple(reads),
        models=tuple(dict.fromkeys(model for other in near for model in around.models[other])),
        variables=tuple(one for one in variables if one not in plain),
        examples=tuple(plain.items()),
        addresses=tuple(addresses.items()),
        **needs(around.texts[other] for other in near if other in around.texts),
    )


_DIRECTORY = re.compile(
    r"\b(?:StaticFiles|Jinja2Templates)\(\s*(?:directory\s*=\s*)?[\"']([\w./-]*\w)[\"']"
)
"""A folder of files that a server of Python serves, which has to be there."""

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
    needed = NEEDED if is_nest(around.texts.get(path, "")) else ("tsx",)
    imported = around.imported(inside)
    setup = fitted(setup, path, root, around.projects, imported, around.files, needed)
    if path.endswith(".py"):
        project = around.projects.get(join(root, "pyproject.toml"), "")
        own = (around.texts[other] for other in inside)
        setup = with_itself(setup, root, own, project, around.files)
    if setup is None and path.endswith(".py") and root == dirname(path) and path in around.texts:
        found = import_root(path, around.texts[path], "", around.modules[path], around.files)
        root = root if found is None else found
    return root, setup


def _told_set_up(root: str, around: RepositoryFiles) -> SetUp | None:
    """Return what installs what the README of a folder says to install."""
    near = (one for one in around.readmes if dirname(one) == root)
    told = (told_set_up(basename(one), around.readmes[one]) for one in near)
    return next(filter(None, told), None)


def _score(path: str, framework: str, setup: SetUp | None, around: RepositoryFiles) -> int:
    stem = splitext(basename(path))[0].lower()
    named = stem in _TELLING or any(word in stem for word in ("agent", "bot", "assistant"))
    telling = framework not in _PLAIN_SDKS
    told = path in around.declared
    hinted = (
        0
        if path not in around.told
        else 3
        if path == min(around.told, key=lambda one: around.told[one].place)
        else 2
    )
    leading = _LEADS.search(stem) is not None
    return (
        2 * (named or told or leading)
        + 2 * leading
        + 2 * telling
        + (setup is not None)
        + told
        + hinted
        - 2 * is_aside(path)
    )
