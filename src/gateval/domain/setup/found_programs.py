"""A program by its file or by what declares it, and how much speaks for it. Pure."""

from __future__ import annotations

import re
from posixpath import basename, dirname, join, splitext

from gateval.domain.setup.answering import asked_at_import
from gateval.domain.setup.asked_by_words import starting_command
from gateval.domain.setup.channels import speaks_alone, waits_for_platform, within_platform
from gateval.domain.setup.declared import DeclaredAgent
from gateval.domain.setup.graph_states import stores_in_node
from gateval.domain.setup.invocation import Invocation
from gateval.domain.setup.libraries import OVER_HTTP, is_named
from gateval.domain.setup.openapi import SOME_TEXT
from gateval.domain.setup.other_work import is_aside, talks_to_page, template_of
from gateval.domain.setup.program import FoundProgram, SetUp, is_flask, server_of
from gateval.domain.setup.program_asking import how_asked
from gateval.domain.setup.program_surroundings import (
    folder_and_set_up,
    project_name,
    set_up_of_readme,
    with_surroundings,
)
from gateval.domain.setup.protocols import (
    at_port,
    hosted,
    node_at_port,
    serves_at_import,
    starts_itself,
)
from gateval.domain.setup.repository_files import ENDINGS, RepositoryFiles
from gateval.domain.setup.shown_requests import as_shown
from gateval.domain.setup.start_command import start_of, with_src
from gateval.domain.setup.told_starts import NODE_SOURCES
from gateval.domain.setup.typed_choices import dropped

TELLING = {"main", "agent", "app", "bot", "server", "index", "cli", "__main__", "run", "assistant"}


_LEADS = re.compile(r"coordinat|orchestrat|supervis|(?<!un)manager$")
"""How a program is called that hands on to others."""

_PLAIN_SDKS = {OVER_HTTP, "OpenAI SDK", "Anthropic SDK", "LiteLLM", "LangChain"}


def program_of(path: str, framework: str, around: RepositoryFiles) -> FoundProgram:
    """Return the program of a file, which imports the framework."""
    text, behind = around.texts[path], around.reach.behind(path)
    root, setup = folder_and_set_up(path, around)
    if setup is None and path.endswith(".py"):
        setup = set_up_of_readme(root, around)
    invocation, refused = how_asked(path, around)
    invocation = as_shown(invocation, around.readmes.values())
    modules = around.imported([path, *around.below(dirname(path))])
    application = server_of(path, text, behind)
    begins = starting_command(path, text) if invocation.route else None
    by_word = begins and (not application or "global " in begins.text)  # what handlers read
    flask = is_flask(f"{text}{behind}")
    alone = not flask and serves_at_import(text, application)
    application = "" if alone else application
    start = start_of(
        path,
        text,
        root,
        modules,
        around.files,
        setup=setup,
        function=around.declared.get(path, ""),
        application="" if by_word else application,
        flask=flask,
    )
    command, modules_in = start
    if path.endswith(".py"):
        reached = around.imported(around.reach.from_(path))
        modules_in = with_src(modules_in, path, root, reached, around.files)
    if begins and by_word:
        command = at_port(begins.text, (*command, begins.name))
    elif (
        alone
        or hosted(path, text)
        or (invocation.route and starts_itself(path, text) and not application)
    ):
        command = at_port(text, command)
    if invocation.route and "node" in command:
        command = node_at_port(f"{text}\n{behind}\n{' '.join(command)}", command)
    if invocation.variable:
        command = ("sh", "-c", f'export {invocation.variable}="$(cat)"; exec "$@"', "sh", *command)
    program = FoundProgram(
        path=path,
        framework=framework,
        root=root,
        command=(*command, *invocation.words),
        modules_in=modules_in,
        invocation=invocation,
        setup=setup,
        include=(),
        models=(),
        score=_score(path, framework, setup, around) - 3 * (f"/{SOME_TEXT}/" in invocation.route),
        started=around.starts(path),
        hinted=path in around.told,
        names=(basename(root), _stem(path), project_name(root, around)),
        refused=refused,
        drops="" if invocation.route else dropped(text),
    )
    return with_surroundings(program, path, around)


def declared_program(one: DeclaredAgent, around: RepositoryFiles) -> FoundProgram:
    """Return what a framework declares, as the target of a bridge."""
    stem, text = _stem(one.file), around.texts.get(one.file, "")
    file = one.file if one.path.endswith(ENDINGS) else join(dirname(one.path), basename(one.file))
    root, setup = folder_and_set_up(file, around)
    if root and not one.path.startswith(f"{root}/"):
        root = dirname(one.path)
    while setup is None and root and join(root, "__init__.py") in around.files:
        root = dirname(root)
    if setup is None and one.file.endswith(".py"):
        setup = set_up_of_readme(root, around)
    why = (
        template_of(one.file, text)
        or talks_to_page(text)
        or within_platform(text)
        or waits_for_platform(text)
        or (stores_in_node(text) if one.framework == "LangGraph" else None)
        or speaks_alone(around.models.get(one.file, ()))
    )
    program = FoundProgram(
        path=one.file if why and not one.refused else one.path,
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
        names=(*one.names, basename(root), project_name(root, around), stem),
        refused=one.refused or why,
        begun=asked_at_import(text).get(one.found, "") if one.file.endswith(".py") else "",
    )
    return with_surroundings(program, one.file, around)


def _stem(path: str) -> str:
    """Return what a file is called, of a package that of its folder."""
    stem = splitext(basename(path))[0]
    return basename(dirname(path)) if stem in {"__init__", "__main__"} else stem


def _score(path: str, framework: str, setup: SetUp | None, around: RepositoryFiles) -> int:
    stem = splitext(basename(path))[0].lower()
    named = stem in TELLING or any(word in stem for word in ("agent", "bot", "assistant"))
    telling = framework not in _PLAIN_SDKS and is_named(framework)
    guessed = bool(framework) and not is_named(framework)
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
        - 4 * guessed
    )
