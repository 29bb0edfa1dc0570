"""The formats that `gateval import` reads, and how their files are known by name."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatch
from typing import NamedTuple

from gateval.formats.imports import adk, prompt_yml, promptfoo
from gateval.formats.imports.base import Reader
from gateval.formats.imports.datasets import (
    BRAINTRUST,
    DEEPEVAL,
    INSPECT,
    LANGSMITH,
    OPENAI_EVALS,
)


class ImportFormat(NamedTuple):
    """A format: its reader, whose it is, and names of files that are of it for certain."""

    read: Reader
    title: str
    names: tuple[str, ...] = ()


IMPORTS: Mapping[str, ImportFormat] = {
    "adk": ImportFormat(adk.read, "eval sets of ADK", ("*.evalset.json", "*.test.json")),
    "promptfoo": ImportFormat(
        promptfoo.read, "configs of promptfoo", ("promptfooconfig*.yaml", "promptfooconfig*.yml")
    ),
    "prompt-yml": ImportFormat(
        prompt_yml.read, "prompts of GitHub Models", ("*.prompt.yml", "*.prompt.yaml")
    ),
    "inspect": ImportFormat(INSPECT.read, "datasets of Inspect"),
    "openai-evals": ImportFormat(OPENAI_EVALS.read, "samples of OpenAI's evals"),
    "deepeval": ImportFormat(DEEPEVAL.read, "goldens of DeepEval"),
    "langsmith": ImportFormat(LANGSMITH.read, "examples of LangSmith"),
    "braintrust": ImportFormat(BRAINTRUST.read, "rows of Braintrust"),
}


def format_of_name(path: str) -> str:
    """Return the format that the name of a file tells for certain, or an empty string."""
    name = path.rpartition("/")[2]
    return next(
        (key for key, one in IMPORTS.items() if any(fnmatch(name, glob) for glob in one.names)), ""
    )
