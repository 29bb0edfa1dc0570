"""What a run of the gate does once in its life, done once for all forked runs.

A run spends half of its CPU time on modules that it imports late, on validators that pydantic builds
at first use, and on templates. The fork server of `tests/helpers/forked.py` imports this module, so
that runs find all of it ready. Starts of the real program are measured and tested elsewhere.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import pkgutil
from collections.abc import Iterator

import github
import pydantic

import gateval
from gateval.adapters.own_code import engine_digest
from gateval.render.comment_parts import environment
from gateval.render.page.template import environment as pages

NOT_FOR_IMPORT = ("gateval.__main__", "gateval.candidates.isolation.supervisor")
"""A program's first module, and what runs without the gate."""

LATE = (
    "encodings.utf_8_sig", "genai_prices.data", "jsonpath_rfc9535", "jsonschema_rs", "pyrage", "re2",
    "rich.console", "rich.markup", "rich.table", "ruamel.yaml",
)  # fmt: skip
"""What the gate imports when it first needs it; to link one of them takes longer than many a run."""


def warm() -> None:
    """Import the gate whole, build all validators, compile all templates; keep them for good."""
    for module in pkgutil.walk_packages(gateval.__path__, "gateval."):
        if not module.name.startswith(NOT_FOR_IMPORT):
            importlib.import_module(module.name)
    for name in LATE:
        importlib.import_module(name)
    importlib.import_module("rich.cells").cell_len("·")  # reads its table of widths
    importlib.import_module("tests.helpers.forked")  # with which forked processes begin
    github.Auth.Token("x")  # has it import the rest
    for model in _below(pydantic.BaseModel):
        with contextlib.suppress(pydantic.PydanticUndefinedAnnotation):
            model.model_rebuild()
    for made in (environment(), pages()):
        for name in made.list_templates(["j2"]):
            made.get_template(name)
    engine_digest()
    gc.collect()
    gc.freeze()  # a fork's collector would copy every page that it looks at


def _below(model: type[pydantic.BaseModel]) -> Iterator[type[pydantic.BaseModel]]:
    for one in model.__subclasses__():
        yield one
        yield from _below(one)


warm()
