"""Programs that nothing here asks, each with its cause: pages, handlers, other ways. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import basename

from gateval.domain.setup.channels import channel_of, no_bridge, worked_by
from gateval.domain.setup.declared import leads
from gateval.domain.setup.found_programs import program_of
from gateval.domain.setup.libraries import is_bridged, is_named, is_unbridged
from gateval.domain.setup.node_hosts import (
    client_in,
    hands_on,
    host_of,
    page_in,
    posts_away,
    unknown_in,
)
from gateval.domain.setup.node_protocols import COPILOT, TO_A_JOB
from gateval.domain.setup.other_work import (
    AZURE,
    MUTE,
    SILENT,
    STREAMS,
    UNSTARTED,
    Refusal,
    does_other_work,
    names_other_work,
    other_work_of,
    page_of,
    template_of,
)
from gateval.domain.setup.platforms import (
    DEPENDENCIES,
    FIELDS,
    PLATFORM,
    asks_a_model,
    asks_workers_ai,
    is_handler,
)
from gateval.domain.setup.program import FoundProgram, is_asked, streams_only
from gateval.domain.setup.repository_files import RepositoryFiles, is_own
from gateval.domain.setup.server_actions import server_action_of
from gateval.domain.setup.told_starts import NODE_SOURCES
from gateval.domain.setup.typed_choices import why_unread


def with_cause(
    program: FoundProgram, around: RepositoryFiles, programs: Sequence[FoundProgram]
) -> FoundProgram:
    """Return the program; one that takes no question here is refused by where it takes them, and
    comes after what can be asked in another folder.
    """
    if program.refused in {FIELDS, DEPENDENCIES} and (page := _page_around(program, around)):
        return page
    if program.refused in {COPILOT, STREAMS} and program.path in around.texts:
        own = f"{around.texts[program.path]}\n{around.reach.behind(program.path)}"
        return program._replace(refused=channel_of(own) or program.refused)
    handled = program.refused == PLATFORM
    if not (handled or program.refused in {MUTE, UNSTARTED, SILENT}):
        return program
    if program.path not in around.texts:
        return program
    near = around.below(program.root)
    others = (one.score for one in programs if one.refused is None and one.root != program.root)
    score = min(program.score, *(score - 1 for score in others), program.score)
    own = around.texts[program.path]
    hosted = host_of(own) and not channel_of(own)  # what is beside it may be heard elsewhere
    why = None if handled or hosted else channel_of("\n".join(around.texts[one] for one in near))
    hosts = ((one, host_of(around.texts[one])) for one in _likeliest(near, around) if not why)
    chat = why is not None and why.why.startswith("is a bot of ")
    place = _heard_at(program.path, why, near, around) if why and chat else program.path
    path, why = next(((one, host) for one, host in hosts if host), (place, why))
    if not handled and why is None:
        path, why = _otherwise_asked(program, near, around)
    if why is None and program.refused == MUTE:
        why = why_unread(around.texts[program.path])
    return program._replace(path=path, refused=why or program.refused, score=score)


def _heard_at(path: str, why: Refusal, near: Iterable[str], around: RepositoryFiles) -> str:
    """Return the file of a bot that hears of questions in this way, where neither a program's file
    nor what that imports does; else the program's.
    """
    if any(channel_of(around.texts[one]) == why for one in around.reach.from_(path)):
        return path
    other = (one for one in _likeliest(near, around) if channel_of(around.texts[one]) == why)
    return next(other, path)


_SOCKETS = re.compile(
    r"@\w+\.websocket\(|\bwebsockets?\.serve\(|\b(?:WebSocketRoute|SocketIO)\("
    r"|^class \w+\([^)]*(?:WebSocketHandler|WebsocketConsumer|WebSocketEndpoint)\b"
    r"|\bnew WebSocketServer\(|\bupgradeWebSocket\(|\bnew WebSocketPair\b|[\"']socket\.io[\"']",
    re.M,
)
"""A server that takes messages over WebSocket."""


def _otherwise_asked(
    program: FoundProgram, near: Sequence[str], around: RepositoryFiles
) -> tuple[str, Refusal | None]:
    """Return by which file and how a program is asked that no platform starts: a page of Genkit, a
    server action, a library without a bridge, WebSocket; None where nothing tells.
    """
    if program.refused in {UNSTARTED, MUTE}:
        if why := _flows_of(around.texts[program.path]):
            return program.path, why
        for path in _likeliest(near, around):
            why = server_action_of(path, around.texts[path]) if around.framework(path) else None
            if why:
                return path, why
    if why := _without_bridge(program, around):
        return program.path, why
    for path in near if program.refused == UNSTARTED else ():
        if why := posts_away(around.texts[path]):
            return path, why
    speaks = [one for one in near if _SOCKETS.search(around.texts[one])]
    path = min(speaks, key=lambda one: (names_other_work(one), one), default="")
    return (path, STREAMS) if path else (program.path, None)


def _page_around(program: FoundProgram, around: RepositoryFiles) -> FoundProgram | None:
    """Return a graph as the page that fills its state, in its file or one that imports it."""
    for path in sorted(around.texts, key=lambda one: (one != program.path, one.count("/"), one)):
        why = page_of(around.texts[path]) if path.endswith(".py") else None
        if why and program.path in around.reach.from_(path):
            return program._replace(path=path, refused=why, target="", language="")
    return None


_TAKES = re.compile(
    r"\b(?:user)?(?:[qQ]uestion|[pP]rompt|[qQ]uery|[mM]essages?|[tT]opic|[tT]ext|[iI]nput)\b\s*[?:,})]"
)

_ASKS = re.compile(
    r"\b(?:stream|generate)(?:Text|Object)\(|\.(?:completions|responses|messages)\.(?:create|stream)\("
    r"|\.(?:invoke|ainvoke|stream|generate\w*)\(|\bnew (?:Azure)?Chat[A-Z]\w*\("
)
"""How a file asks a model."""

_DEFINES = re.compile(
    r"\b(?:create|define)Agent\(|\b(?:schemaTask|task|createFunction)\(|\bextends \w*Agent\w*\b"
)
"""How the work that a platform starts is defined."""


def _likeliest(paths: Iterable[str], around: RepositoryFiles) -> list[str]:
    """Return the files, those first that ask a model themselves, then those with a question, then
    in the order in which a README names them.
    """
    told = "\n".join(around.readmes.values())
    return sorted(
        paths,
        key=lambda one: (
            not around.framework(one),
            names_other_work(one),
            not _DEFINES.search(around.texts[one]),
            not around.frameworks[one],
            not _ASKS.search(around.texts[one]),
            not is_asked(one),
            not _TAKES.search(around.texts[one]),
            told.find(one) % (len(told) + 1),
            one.count("/"),
            one,
        ),
    )


def _peers(asked: Sequence[FoundProgram], language: str) -> dict[str, str]:
    """Return the paths of several equal agents of one language by what they are called, where none
    of them leads; nothing else.
    """
    best = max((one.score for one in asked), default=0)
    peers = {one.told: one.path for one in asked if one.score >= best - 1}
    alike = all(one.target and one.language == language for one in asked)
    led = any(leads(one.rpartition(":")[2]) for one in peers)
    return peers if len(peers) > 1 and alike and not led else {}


def orchestrated(programs: Sequence[FoundProgram], around: RepositoryFiles) -> list[FoundProgram]:
    """Return the work of a platform that asks several equal agents of Node, of which none leads and
    none is asked otherwise: they are its parts.
    """
    asked = [one for one in programs if one.refused is None]
    peers = _peers(asked, "node")
    if not peers:
        return []
    behind: dict[str, set[str]] = {}
    for path in _likeliest(around.texts, around):
        text = around.texts[path]
        if host_of(text) or (path.endswith(NODE_SOURCES) and channel_of(text)):
            behind[path] = {*peers.values()} & {*around.reach.from_(path)} - {path}
    parts = set().union(*behind.values())
    given = [one for one in programs if one.refused and one.refused.why.startswith(TO_A_JOB)]
    if given and any(len(one) > 1 for one in behind.values()):
        return [min(given, key=lambda one: (not is_asked(one.path), one.path.count("/"), one.path))]
    for path in behind if parts == {*peers.values()} else ():
        if len(behind[path]) > 1:
            why = host_of(around.texts[path]) or channel_of(around.texts[path])
            return [program_of(path, asked[0].framework, around)._replace(refused=why)]
    return []


def worked_for(programs: Sequence[FoundProgram], around: RepositoryFiles) -> list[FoundProgram]:
    """Return the work of a platform that asks all of several equal agents of Python, of which none
    leads: they are its parts.
    """
    asked = [one for one in programs if one.refused is None]
    peers = _peers(asked, "python")
    for path in _likeliest(around.texts, around):
        why = worked_by(around.texts[path])
        if peers and why and {*peers.values()} <= {*around.reach.from_(path)} - {path}:
            return [program_of(path, asked[0].framework, around)._replace(refused=why)]
    return []


def _without_bridge(program: FoundProgram, around: RepositoryFiles) -> Refusal | None:
    """Return that there is no bridge for the library that a program of Python, or a file near it,
    imports.
    """
    if not program.path.endswith(".py"):
        return None
    used = {one: around.frameworks[one] for one in around.reach.followed(program.path)}
    known = any(map(is_named, used.values()))
    files = (one for one in used if is_unbridged(used[one]) and is_named(used[one]) == known)
    file = next(files, "")
    if not file or any(map(is_bridged, used.values())):
        return None
    why = no_bridge(used[file], file if known or file != program.path else "", known=known)
    unread = why_unread(around.texts[program.path]) if known and program.refused == MUTE else None
    return Refusal(f"{unread.why[:-1]}; {used[file]} has no bridge.", why.hint) if unread else why


_FLOWS = Refusal(
    "has flows of Genkit that it does not export, so that its own page alone (`genkit start`) asks "
    "them.",
    "Export the flow that answers, `export const ask = ai.defineFlow(...)`, and name it, "
    "`gateval init FILE:ask`; or serve it with `startFlowServer` (docs/guides/bridges.md).",
)


def _flows_of(text: str) -> Refusal | None:
    return _FLOWS if "genkit" in text and re.search(r"\bdefineFlow\(", text) else None


def asked_elsewhere(around: RepositoryFiles) -> list[FoundProgram]:
    """Return the program that is asked elsewhere, as on a page or over WebSocket, or that answers
    by a model of its own, if there is one.
    """
    nearest = sorted(
        around.texts,
        key=lambda one: (
            names_other_work(one),
            not around.frameworks[one],
            one not in around.declared,
            one.count("/"),
            one,
        ),
    )
    told = (_own_way, host_of, _works_for_others, client_in, hands_on, unknown_in, page_in)
    for cause in (*told, posts_away):
        for path in _likeliest(nearest, around) if cause is host_of else nearest:
            if why := cause(around.texts[path]):
                return [program_of(path, "", around)._replace(refused=why)]
    return []


def _own_way(text: str) -> Refusal | None:
    streams = STREAMS if streams_only("", text, "") else None
    return channel_of(text, models=True) or page_of(text) or streams


def _works_for_others(text: str) -> Refusal | None:
    why = host_of(text, beside=True)
    return PLATFORM if why and "a page of" in why.why and is_handler(text) else why


def passed_over(around: RepositoryFiles) -> list[FoundProgram]:
    """Return the program that does other work than to answer, those first that people are told to
    start, where one asks a model and nothing else was found.
    """
    last = len(around.told)
    for path in sorted(
        (one for one in around.texts if is_named(around.framework(one))),
        key=lambda one: (around.told[one].place if one in around.told else last, one),
    ):
        if around.starts(path) and (why := other_work_of(path, around.texts[path])):
            return [program_of(path, around.framework(path), around)._replace(refused=why)]
    return []


def told_notebook(found: Sequence[FoundProgram], around: RepositoryFiles) -> str:
    """Return the notebook that a README names, or tells of, where no program was found that is
    started, "" for none.
    """
    if not found or any(one.refused != UNSTARTED for one in found):
        return ""
    readme = "\n".join(around.readmes.values())
    books = sorted(
        one
        for one in around.files
        if one.endswith(".ipynb") and is_own(one.replace("notebooks/", ""))
    )
    told = (one for one in books if basename(one) in readme)
    plain = len(books) == 1 and "/" not in books[0]
    guide = books and (plain or re.search(r"(?i)\bnotebook", readme))
    return next(told, books[0] if guide else "")


def unstarted(known: Mapping[str, str], around: RepositoryFiles) -> list[FoundProgram]:
    """Return the file that tells most of a library, as one that is no agent."""
    using = [path for path in known if around.frameworks[path]]
    made = [
        program_of(one, known[one], around)._replace(
            refused=template_of(one, around.texts[one]) or UNSTARTED
        )
        for one in using
    ]
    return sorted(made, key=lambda one: -one.score)[:1]


_AZURE = re.compile(r"\bapp\.(?:http|post)\(\s*[\"'`]\w")


def azure_functions(known: Mapping[str, str], around: RepositoryFiles) -> Iterator[FoundProgram]:
    """Yield the handler of Azure Functions that asks a model, the one that answers first."""
    found = [
        path
        for path in known
        if "@azure/functions" in around.modules[path] and _AZURE.search(around.texts[path])
    ]
    for path in _likeliest(found, around)[:1]:
        yield program_of(path, known[path], around)._replace(refused=AZURE)


def handlers_of(around: RepositoryFiles, *, asking: bool = True) -> Iterator[FoundProgram]:
    """Yield the handler of a platform, one that asks a model or any; one called as an agent is
    first.
    """
    found = [
        path
        for path, text in around.texts.items()
        if is_handler(text)
        and not does_other_work(path, text)
        and (
            not asking
            or around.framework(path)
            or asks_workers_ai(text)
            or asks_a_model(f"{text}\n{around.reach.behind(path)}")
        )
    ]
    for path in sorted(found, key=lambda one: (not is_asked(one), one))[:1]:
        yield program_of(path, around.framework(path), around)._replace(refused=PLATFORM)


def pages_of(around: RepositoryFiles) -> Iterator[FoundProgram]:
    """Yield the programs that draw a page around an agent."""
    for path, text in around.texts.items():
        why = page_of(text) if not names_other_work(path) else None
        if why and (framework := around.framework(path)):
            yield program_of(path, framework, around)._replace(refused=why)


def _behind(program: FoundProgram, around: RepositoryFiles) -> Sequence[str]:
    """Return what a program imports, which is asked and no page itself."""
    text = around.texts.get(program.path, "")
    asked = program.refused is None and text and not page_of(text)
    return around.reach.from_(program.path) if asked else ()


def told_page(programs: Sequence[FoundProgram], around: RepositoryFiles) -> FoundProgram | None:
    """Return the page, no client, that alone people are told to start and imports none of these."""
    drawn = (one for one in around.told if one in around.texts and not around.is_client(one))
    pages = {one: why for one in drawn if (why := page_of(around.texts[one]))}
    near = {one for path in pages for one in around.reach.from_(path)} - {*pages}
    if not pages or len(pages) < len(around.told) or any(one.path in near for one in programs):
        return None
    readme, made = (
        "\n".join(around.readmes.values()),
        {one for one in near if around.frameworks[one]},
    )
    if any(basename(one.path) in readme and made & {*_behind(one, around)} for one in programs):
        return None  # another way to the agent of the page
    one = min(pages, key=lambda each: around.told[each].place)
    return program_of(one, around.framework(one), around)._replace(refused=pages[one])
