"""Programs that are no agents, though they import a framework: a guess must never start them."""

from __future__ import annotations

import re

_OTHER_WORK = re.compile(
    r"(?:^|[/_.-])(?:deploy\w*|train(?:ing)?|tests?|migrat\w*|seed(?:s|er|ing)?|ingest\w*|loader|load"
    r"|populate|insert\w*|prepare|backfill|replay|upload\w*|download\w*|bench\w*|evals?|evaluat\w*"
    r"|create|build|setup|install|embed\w*|index(?:er|ing)|reset|infra)(?=[/_.-])",
    re.I,
)
"""Words in the name of a program that is no agent: it deploys one, trains it, or loads its data."""

_OTHER_CALLS = re.compile(
    r"agent_engines\.|reasoning_engines|AdkApp\(|insert_rows|load_table_from|import_files\("
)

_PAGE = re.compile(
    r"^[\"']use client[\"']|\b(?:from|require\()\s*[\"'](?:react|react-dom|electron)[/\"']"
    r"|^(?:import|from) (?:streamlit|gradio|chainlit|nicegui|tkinter)\b|\bGradioUI\(",
    re.M,
)
"""What a file has that draws a page or a window: a person types into it."""


_DATA_WORK = re.compile(
    r"(?:^|[/_.-])(?:ingest\w*|index(?:er|ing|_\w+)|seed\w*|upload\w*|migrat\w*|deploy\w*|train\w*)$"
)
"""How a graph is called that writes data, or is there to deploy or train."""


def names_other_work(name: str) -> bool:
    """Whether a path, or a function with a dot behind it, is called after such work."""
    return bool(_OTHER_WORK.search(name))


def does_other_work(path: str, text: str) -> bool:
    """Whether a program is there to deploy, train, test, migrate, load or draw something."""
    return bool(_OTHER_WORK.search(path) or _OTHER_CALLS.search(text) or _PAGE.search(text))


def writes_data(name: str) -> bool:
    """Whether a graph, or a file without its ending, is called after a job on data."""
    return bool(_DATA_WORK.search(name))
