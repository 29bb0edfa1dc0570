"""Finds the programs of a repository that look like agents, the likeliest first."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from posixpath import basename, dirname, splitext

from gateval.domain.setup.answering import answering_bodies, answering_functions, has_guard
from gateval.domain.setup.asked_by_words import reads_input
from gateval.domain.setup.channels import channel_of, run_elsewhere
from gateval.domain.setup.crews import NOT_GIVEN
from gateval.domain.setup.declared import LEAST, DeclaredAgent, declared_agents, leads
from gateval.domain.setup.found_programs import TELLING, declared_program, program_of
from gateval.domain.setup.invocation import Invocation
from gateval.domain.setup.mastra_workflows import told_workflow
from gateval.domain.setup.openapi import SOME_TEXT, takes_question
from gateval.domain.setup.other_work import (
    FOREIGN,
    MUTE,
    NAMED,
    NOTEBOOKS,
    OTHER_ENDINGS,
    UNKNOWN,
    UNSTARTED,
    Refusal,
    does_other_work,
    names_other_work,
    trains,
)
from gateval.domain.setup.outside import outside_of, told_outside
from gateval.domain.setup.program import FoundProgram, is_asked, server_of
from gateval.domain.setup.repository_files import ENDINGS, RepositoryFiles, is_own
from gateval.domain.setup.told_starts import FILE
from gateval.domain.setup.typed_choices import choice_of
from gateval.domain.setup.unasked_programs import (
    asked_elsewhere,
    azure_functions,
    handlers_of,
    orchestrated,
    pages_of,
    passed_over,
    told_notebook,
    told_page,
    unstarted,
    with_cause,
    worked_for,
)


def not_read(files: Collection[str], readme: str = "") -> tuple[str, Refusal] | None:
    """Return why nothing here was found, with the file that tells, where there are notebooks or
    programs, or where the `readme` at the root starts one that is not there.

    `files` are all tracked paths.
    """
    read = (".ipynb", *ENDINGS, *OTHER_ENDINGS)
    every = sorted(files, key=lambda path: (path.count("/"), path))
    every = [one for one in every if one.endswith(read)]
    own = [*filter(is_own, every)] or every
    own = [
        one for one in own if not (names_other_work(one) or basename(one).startswith("."))
    ] or own
    own = [one for one in own if not one.endswith(".d.ts")]
    named = [one for one in own if one.endswith(".ipynb") and basename(one) in readme]
    own.sort(key=lambda one: (one not in named, splitext(basename(one))[0].lower() not in TELLING))
    if not own and (elsewhere := run_elsewhere(files, readme)):
        return elsewhere
    if not own and (deploys := _DEPLOYS.search(readme)):
        return "The README", _deployed(deploys[1])
    for endings, why in ((".ipynb", NOTEBOOKS), (ENDINGS, UNKNOWN), (OTHER_ENDINGS, FOREIGN)):
        if path := next((one for one in own if one.endswith(endings)), ""):
            deploys = _DEPLOYS.search(readme) if why == UNKNOWN else None
            return ("The README", _deployed(deploys[1])) if deploys else (path, why)
    known = {basename(one) for one in files}
    for does, pattern in (("starts", FILE), ("names", _SOURCE)):
        if absent := next(
            (one for one in pattern.findall(readme) if basename(one) not in known), ""
        ):
            return "The README", Refusal(
                f"{does} {absent}, which is not in this repository.", NAMED
            )
    return None


_SOURCE = re.compile(r"(?<![\w./-])((?:[\w-]+/)*[\w.-]+\.(?:py|tsx?|mjs))\b(?![\w(/])")
"""How a file of code is named."""

_DEPLOYS = re.compile(r"^[ \t$>]*(?:uvx? (?:run )?|npx |pnpm |bunx )?([a-z][\w-]+ deploy)\b", re.M)


def _deployed(command: str) -> Refusal:
    return Refusal(
        f"deploys its agent (`{command}`): it runs on that platform, and no program here is known "
        "to ask a model.",
        NAMED,
    )


_DECLARED = 30
"""The score of what a framework declares by its name, as a root agent, is no less."""


_STATES = "StateGraph("


def find_programs(
    texts: Mapping[str, str], files: Iterable[str], wanted: str = ""
) -> tuple[FoundProgram, ...]:
    """Return the programs among `texts` that look like agents, the likeliest first.

    `texts` are the files that are `worth_reading` or `tells_of_project`, `files` all tracked paths.
    A person names the program or `FILE:OBJECT` that is `wanted`. Where nothing says which files are
    started, those that import a framework are returned.
    """
    around = RepositoryFiles.of(texts, files)
    found, places = _declared_first(around)
    if wanted:
        return (_wanted(wanted, found, around),)
    known = {
        path: name
        for path, text in around.texts.items()
        if not does_other_work(path, text) and (name := around.framework(path))
    }
    entries = [path for path in known if around.starts(path)]
    flows = {one.path for one in found if one.refused == NOT_GIVEN}
    programs = [_answering(program_of(path, known[path], around), around) for path in entries]
    programs = [one for one in programs if not (one.path in flows and _is_typed(one.invocation))]
    asked = [one for one in programs if one.refused != MUTE]
    if asked or found:
        found += _orchestrating(asked, found, around)
    else:
        found = _unasked(known, programs, around)
    best = max((one.score for one in found if one.refused is None), default=0)
    if 0 < best < _DECLARED + 10 and (page := told_page(found, around)):
        return (page,)
    whole = told_workflow(found, around) or orchestrated(found, around)
    if whole := whole or worked_for(found, around):
        return tuple(whole)
    if told := told_outside(around):
        path, why = told
        return (program_of(path, around.framework(path), around)._replace(refused=why),)
    found = [_here(with_cause(one, around, found), around) for one in found]
    return tuple(sorted(found, key=lambda one: _rank(one, places)))


def _rank(one: FoundProgram, places: Mapping[str, int]) -> tuple[int, int, bool, int, str]:
    """Return what a program is sorted by; `places` are those in the order of telling."""
    told = places.get(one.path, len(places) + 1_000_000)
    return -one.score, told, _is_beside(one), one.path.count("/"), one.path


def _declared_first(around: RepositoryFiles) -> tuple[list[FoundProgram], dict[str, int]]:
    """Return what frameworks declare, and where people are told to start it, by its path."""
    agents = declared_agents(
        around.texts,
        around.declaring,
        lambda path: around.frameworks[path],
        around.framework,
        around.reach.behind,
    )
    found = _without_parts([declared_program(one, around) for one in agents], around)
    places = {one.path: around.told[one.path].place for one in found if one.path in around.told}
    first = min(places, key=places.__getitem__, default="")
    found = [
        one._replace(score=one.score + (one.path in places) + (one.path == first)) for one in found
    ]
    return list(_told_first(found, first, around)), places


def _is_typed(asked: Invocation) -> bool:
    """Whether what a program takes is typed alone; a step of a flow asks for a decision so."""
    return not (asked.words or asked.route)


def _here(program: FoundProgram, around: RepositoryFiles) -> FoundProgram:
    """Return the program; it is refused where it imports what stands outside."""
    unknown = program.refused is not None and program.refused.why.startswith("imports ")
    told = program.refused not in {None, MUTE, UNSTARTED} and not unknown
    if told or program.path not in around.texts:
        return program
    return program._replace(refused=outside_of(program.path, around) or program.refused)


def _is_beside(one: FoundProgram) -> bool:
    """Whether a file that is refused is called less as those are that take questions."""
    return one.refused is not None and not is_asked(
        basename(dirname(one.path)) + basename(one.path)
    )


def _unasked(
    known: Mapping[str, str], programs: Sequence[FoundProgram], around: RepositoryFiles
) -> list[FoundProgram]:
    """Return what tells why nothing here is asked: a page, a handler, a program of another kind."""
    found = [*pages_of(around), *azure_functions(known, around), *handlers_of(around)]
    found = found or [*programs] or unstarted(known, around) or asked_elsewhere(around)
    found = found or passed_over(around) or [*handlers_of(around, asking=False)]
    if notebook := told_notebook(found, around):
        return [found[0]._replace(path=notebook, refused=NOTEBOOKS)]
    return found


def _without_parts(found: Sequence[FoundProgram], around: RepositoryFiles) -> list[FoundProgram]:
    """Return the programs but for the crews of flows which are refused: none is asked alone."""
    flows = [one.path for one in found if one.refused == NOT_GIVEN]
    parts = {other for path in flows for other in around.reach.from_(path) if other != path}
    return [one for one in found if not (one.path in parts and one.framework == "CrewAI")]


def _told_first(
    agents: Sequence[FoundProgram], first: str, around: RepositoryFiles
) -> Iterator[FoundProgram]:
    """Yield the agents; those of the file that people are told to start first come before others
    that have nothing to do with it and nobody is told to start.
    """
    near = set(around.reach.from_(first)) if first in around.texts else set()
    own = [one.score for one in agents if one.path == first and one.refused is None]
    for one in agents:
        apart = one.path in around.texts and first not in around.reach.from_(one.path)
        aside = near and apart and one.path not in near and one.path not in around.told
        below = own and LEAST <= max(own) <= one.score < _DECLARED
        yield one._replace(score=max(own) - 1) if aside and below else one


def _answering(program: FoundProgram, around: RepositoryFiles) -> FoundProgram:
    """Return the program, or a function of it that takes the question where the program takes none.

    It is refused where there is neither.
    """
    text = around.texts[program.path]
    asked, behind = program.invocation, around.reach.behind(program.path)
    if not (asked.route or program.refused) and (training := trains(f"{text}\n{behind}")):
        return program._replace(refused=training)
    if asked.words or asked.route or program.refused or reads_input(behind):
        return program
    if asked.sure and choice_of(text) is None:
        return program
    if channel_of(f"{text}\n{behind}"):  # which asks it, and with_cause says so
        return program._replace(refused=MUTE)
    for path in around.reach.from_(program.path):
        if not path.endswith(".py") or (path == program.path and not has_guard(text)):
            continue
        if does_other_work(path, ""):
            continue
        own = around.texts[path]
        plain = ((name, ()) for name in answering_functions(own))
        for name, keys in (*plain, *answering_bodies(own)):
            names = (splitext(basename(path))[0], name)
            one = DeclaredAgent(path, path, name, program.framework, names, program.score)
            return declared_program(_with_keys(one, keys), around)
    return program._replace(refused=MUTE)


def _with_keys(agent: DeclaredAgent, keys: Sequence[str]) -> DeclaredAgent:
    """Return a function that is given an object with what it reads there: the question, else some
    text.
    """
    asked = [one for one in keys if takes_question(one)][:1]
    more = ((one, json.dumps(SOME_TEXT)) for one in keys if one not in {*asked, "prompt"})
    return agent._replace(inputs=(*asked,), more=(*more,))


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
    used = {one.framework for one in agents}
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
        told = told or (one.framework in used and _is_told_alone(one.path, peers, near, around))
        told = told or (bool(near) and _opens_others(around.texts[one.path], peers))
        if asked and ((told and best < _DECLARED) or (not led and reached == set(peers.values()))):
            score = max(score, best + 1)
        serves = one.invocation.route and one.invocation.sure and one.refused is None
        made = all(told.endswith("()") for told in peers)  # by functions, which it calls
        entered = one.invocation.route == "/invocations" and one.path in near
        begun = entered or any(one.path in {path, *behind.get(path, ())} for path in around.told)
        aside = (one.path in starters and started) or around.starts_apart(one.path)
        if serves and best < _DECLARED and not aside and ((reached and made) or (near and begun)):
            score = max(score, best + 1)
        by_hand = one.invocation.preset == "ag-ui" and "RunAgentInput" in around.texts[one.path]
        spoken = by_hand or one.invocation.preset == "a2a"
        spoken = spoken and (begun or one.path in around.declared)
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
    whose state it fills, any. Where all of them are classes, the name of a command will do. One
    with a sentence comes before several agents of its own file, too, of which none leads.
    """
    told = around.told.get(path)
    if lone and len(peers) > 1 and set(peers.values()) == {path} and told and told.words:
        return not told.file
    classes = all(one.rpartition(":")[2][:1].isupper() for one in peers)
    if classes and (path in around.declared or (told and told.words)):
        return True
    graphs = all(_STATES in around.texts.get(one, "") for one in peers.values())
    return reached and bool(told and (lone or told.words or graphs))


_OPENED = re.compile(r"\benter_async_context\(\s*(\w+)[.)]|\b(\w+)\.run_mcp_servers\(\)")


def _opens_others(text: str, peers: Mapping[str, str]) -> bool:
    """Whether a program opens what parts of the agents need, which a bridge opens for one alone."""
    opened = {name for pair in _OPENED.findall(text) for name in pair if name}
    return bool(opened - {one.rpartition(":")[2] for one in peers})


def _is_told_alone(
    path: str, peers: Mapping[str, str], near: Collection[str], around: RepositoryFiles
) -> bool:
    """Whether the program is what people are told to start first, and the agents that were found
    have nothing to do with it: none stands in a file that it reaches or that people start.
    """
    first = min(around.told, key=lambda one: around.told[one].place, default="")
    apart = not near and not any(one in around.told for one in peers.values())
    return bool(peers) and path == first and apart and not around.is_client(path)


def _has_application(program: FoundProgram, around: RepositoryFiles) -> bool:
    path = program.path
    return bool(server_of(path, around.texts[path], around.reach.behind(path)))


def _wanted(wanted: str, found: Sequence[FoundProgram], around: RepositoryFiles) -> FoundProgram:
    """Return what a person named: a program, a file that declares agents, or `FILE:OBJECT`."""
    path, _, name = wanted.partition(":")
    framework = around.framework(path) if path in around.texts else ""
    if not name and path in around.texts and around.starts(path):
        return program_of(path, framework, around)
    meant = [one for one in found if one.told == wanted or (one.path == path and not name)]
    if meant:
        return max(meant, key=lambda one: one.score)
    if name:
        return declared_program(DeclaredAgent(path, path, name, framework, (name,), LEAST), around)
    return program_of(path, framework, around)
