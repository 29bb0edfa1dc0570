"""Programs that import what stands outside: a folder of a larger repository, alone. Pure."""

from __future__ import annotations

import re
import sys

from gateval.domain.setup.libraries import PYTHON
from gateval.domain.setup.other_work import NAMED, Refusal
from gateval.domain.setup.repository_files import RepositoryFiles
from gateval.domain.setup.server_modules import MOST_STEPS

_OF_WINDOWS = re.compile(r"uiautomation|pywinauto|win32gui")
"""Modules that Windows alone has."""

_KNOWN = frozenset(one.partition(".")[0] for one in PYTHON)


def outside_of(path: str, around: RepositoryFiles) -> Refusal | None:
    """Return why a program cannot be started here that imports, or whose files import, what stands
    outside; of Python also what Windows alone has, or a package of which the README says that this
    folder is a part; None for any other.
    """
    for one in () if path.endswith(".py") else around.reach.from_(path):
        for module in sorted(around.modules[one]):
            stem = module.rpartition(".")[0] or module
            if _NODE_APART.fullmatch(module) and not any(stem in other for other in around.files):
                return _part_of_larger(module, one)
    for one in around.reach.from_(path) if path.endswith(".py") else ():
        for module in sorted(around.modules[one]):
            if _OF_WINDOWS.fullmatch(module):
                return Refusal(
                    f"works on the windows of Windows (it imports `{module}` in {one}), on which "
                    "nothing here runs.",
                    NAMED,
                )
            top, _, rest = module.partition(".")
            if rest and not _is_here(rest, around) and _is_above(top, around):
                named = ".".join(module.split(".")[:2])
                return Refusal(
                    f"imports `{named}` ({one}), which is no part of this repository and of no "
                    f"package: the README has it as a folder of `{top}`.",
                    "Call `gateval init` in the whole repository. " + NAMED,
                )
            if _is_apart(module, around):
                return _part_of_larger(module, one)
    return None


def _part_of_larger(module: str, file: str) -> Refusal:
    return Refusal(
        f"is a part of a larger repository: `{module}`, which {file} imports, is not here, nor "
        "what starts it.",
        "Call `gateval init` in the whole repository. " + NAMED,
    )


_NODE_APART = re.compile(r"(?:src|examples?|samples?)/[\w/-]+\.[cm]?[jt]s")


def _is_here(rest: str, around: RepositoryFiles) -> bool:
    """Whether the end of a module's name is a file or a folder here: the root is its package."""
    parts = rest.split(".")[:MOST_STEPS]
    paths = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    marked = tuple(f"{path}{mark}" for path in paths for mark in (".py", "/"))
    return any(one.startswith(marked) for one in around.files)


_APART = re.compile(r"(?:\w+\.(?:[\w.]+\.)?)?(?:src|examples?|samples?)\.\w[\w.]*")
"""How a module is named by folders that no package has."""


def _is_apart(module: str, around: RepositoryFiles) -> bool:
    """Whether a module is named by such folders, and none of the files is it or holds it."""
    top, _, rest = module.partition(".")
    above = _APART.fullmatch(module) and not _is_here(rest, around)
    here = (f"/{top}/", f"/{top}.py")
    return bool(above) and not any(mark in f"/{one}" for one in around.files for mark in here)


def _is_above(top: str, around: RepositoryFiles) -> bool:
    """Whether a name is that of a folder above, by a README, and none of a package."""
    if top in _KNOWN or top in sys.stdlib_module_names:
        return False
    here = re.compile(rf"(?:^|/){top}(?:/|\.pyi?$)")
    package = re.compile(rf"(?i)(?<![\w./-]){top.replace('_', '[-_]')}(?![\w/])")
    if any(map(here.search, around.files)) or any(map(package.search, around.projects.values())):
        return False
    told = re.compile(rf"-m {top}\.\w|\b(?:cd|python3?|run|streamlit run) (?:[\w.-]+/)*{top}/")
    return any(map(told.search, around.readmes.values()))


_TOLD = re.compile(r"\bpython3? -m (\w+(?:\.\w+)+)")


def told_outside(around: RepositoryFiles) -> tuple[str, Refusal] | None:
    """Return the program that people are told to start as a module of a package above, with why it
    cannot be started here.
    """
    for module in (one for text in around.readmes.values() for one in _TOLD.findall(text)):
        parts = module.split(".")
        ends = ("/".join(parts[place:]) + ".py" for place in range(1, len(parts)))
        path = next((one for one in ends if one in around.texts), "")
        if path and (why := outside_of(path, around)):
            return path, why
    return None
