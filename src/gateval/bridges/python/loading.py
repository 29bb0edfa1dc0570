"""Finds what a target names: the object in its module, its framework, what drives it.

`bridge.py`, which stands beside it, loads it while nothing but Python's own library is on the path.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import json
import os
import re
import sys
import traceback
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

OWN = os.path.dirname(os.path.abspath(__file__))
LIBRARY_PATH = sys.path[:]
FOLDER = os.getcwd()
"""Where the program's own files are; `main` of the bridge is told."""

LOOPS: list[Any] = []
"""The one event loop for all questions, made when something has to be waited for."""


def library(name: str) -> Any:
    """Import a module of Python's own library, whatever the program has of that name."""
    before, sys.path[:] = sys.path[:], LIBRARY_PATH
    try:
        return importlib.import_module(name)
    finally:
        sys.path[:] = before


def waited(made: Any) -> Any:
    """Return what an awaitable gives, on the one loop of this process."""
    if not LOOPS:
        asyncio = library("asyncio")
        LOOPS.append(asyncio.new_event_loop())
        asyncio.set_event_loop(LOOPS[0])

    async def waiting() -> Any:
        return await made

    return LOOPS[0].run_until_complete(waiting())


class Problem(Exception):
    """Why there is no answer: a sentence that says what to do next."""


class Framework(NamedTuple):
    """How objects of a framework are told: by the module that a class of theirs is of, and by its
    name. `file` drives them, `package` is what has to be installed.
    """

    file: str
    package: str
    classes: Mapping[str, tuple[str, ...]]


FRAMEWORKS: Mapping[str, Framework] = {
    "openai-agents": Framework("openai_agents", "openai-agents", {"agents.": ("AgentBase",)}),
    "langgraph": Framework(
        "langgraph",
        "langgraph",
        {"langgraph.": ("Pregel", "StateGraph"), "langchain_core.": ("Runnable",)},
    ),
    "google-adk": Framework(
        "google_adk", "google-adk", {"google.adk.": ("BaseAgent", "BaseNode", "App")}
    ),
    "crewai": Framework(
        "crewai", "crewai", {"crewai.": ("Crew", "Flow", "BaseAgent", "LiteAgent")}
    ),
    "pydantic-ai": Framework("pydantic_ai", "pydantic-ai", {"pydantic_ai.": ("AbstractAgent",)}),
    "smolagents": Framework("smolagents", "smolagents", {"smolagents.": ("MultiStepAgent",)}),
    "llama-index": Framework(
        "llama_index",
        "llama-index-core",
        {
            "workflows.": ("Workflow",),
            "llama_index.": ("Workflow", "BaseChatEngine", "BaseQueryEngine"),
        },
    ),
    "claude-agent-sdk": Framework(
        "claude_agent_sdk", "claude-agent-sdk", {"claude_agent_sdk.": ("ClaudeAgentOptions",)}
    ),
    "agent-framework": Framework(
        "agent_framework", "agent-framework", {"agent_framework.": ("BaseAgent", "Workflow")}
    ),
    "agno": Framework("agno", "agno", {"agno.": ("Agent", "Team", "Workflow")}),
    "strands": Framework("strands", "strands-agents", {"strands.": ("Agent", "MultiAgentBase")}),
    "autogen": Framework(
        "autogen", "autogen-agentchat", {"autogen_agentchat.": ("ChatAgent", "Team")}
    ),
    "callable": Framework("callables", "", {}),
}
"""All that a `framework` can be called. A path of a file is a bridge of one's own."""


def framework_of(found: Any) -> str:
    """Return the framework that an object is of, empty if it is of none."""
    kind = found if isinstance(found, type) else type(found)
    for one in getattr(kind, "__mro__", ()):
        for name, framework in FRAMEWORKS.items():
            for prefix, classes in framework.classes.items():
                if one.__name__ in classes and _is_of(one, prefix):
                    return name
    return "crewai" if getattr(kind, "is_crew_class", False) is True else ""


def _is_of(kind: type, prefix: str) -> bool:
    """Whether a class is of this package, and not of a folder of the program that is called so."""
    if not f"{kind.__module__}.".startswith(prefix):
        return False
    file = getattr(sys.modules.get(prefix[:-1]), "__file__", None) or ""
    return not _own_file(os.path.abspath(file)) if file else True


def _own_file(file: str) -> bool:
    inside = os.path.relpath(file, FOLDER)
    return not inside.startswith("..") and "-packages" not in inside


def load(target: str, folder: str) -> Any:
    """Return the object that `module:object`, `file.py:object` or `langgraph.json:graph` names; of
    ADK's `root_agent.yaml`, the agent that it describes.
    """
    place, _, name = target.partition(":")
    if place.endswith((".yaml", ".yml")):
        above = os.path.dirname(os.path.dirname(os.path.join(folder, place)))
        for one in (above, os.path.join(folder, "src"), folder):
            _on_path(one)
        return adapter("google_adk").described(os.path.join(folder, place))
    if place.endswith(".json"):
        place, _, name = _graph_in(place, name, folder).partition(":")
    calls = name.endswith("()")
    name = name[:-2] if calls else name
    module = _imported(place, folder)
    if not name:
        return _only(module, place)
    found: Any = module
    for part in name.split("."):
        found = _attribute(found, part, place)
    return _called(found, target) if calls else found


def _graph_in(file: str, name: str, folder: str) -> str:
    """Return the target of a graph that a langgraph.json names, and set the path as it says."""
    path = os.path.join(folder, file)
    try:
        with open(path, encoding="utf-8") as opened:
            told = json.load(opened)
        graphs = {
            key: value["path"] if isinstance(value, dict) else str(value)
            for key, value in told["graphs"].items()
        }
    except OSError:
        raise Problem(f"there is no file `{file}` in {_shown(folder)}. Correct `target`")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Problem(f"`{file}` names no `graphs` ({cut(str(error), 80)}). Name one: {EXAMPLE}")
    if not name and len(graphs) != 1:
        named = ", ".join(f"`{file}:{one}`" for one in graphs)
        raise Problem(f"`{file}` has several graphs. Say which one `target` means: {named}")
    if name and name not in graphs:
        raise Problem(f"`{file}` has no graph `{name}`{_near(name, graphs)}")
    base = os.path.dirname(path)
    for one in told.get("dependencies") or ():
        if isinstance(one, str) and one.startswith("."):
            _on_path(os.path.normpath(os.path.join(base, one)))
    if isinstance(told.get("env"), dict):
        for key, value in told["env"].items():
            os.environ.setdefault(str(key), str(value))
    where, _, what = (graphs[name] if name else next(iter(graphs.values()))).partition(":")
    if where.endswith(".py"):
        where = os.path.relpath(os.path.join(base, where), folder)
    return f"{where}:{what}"


EXAMPLE = '`{"graphs": {"agent": "./agent.py:graph"}}`'


def _imported(place: str, folder: str) -> ModuleType:
    """Import a module by its dotted name or by its file."""
    src = os.path.join(folder, "src")
    for one in (src, folder):
        if os.path.isdir(one):
            _on_path(one)
    try:
        if place.endswith(".py") or "/" in place:
            return _from_file(place, folder)
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing and (place == missing or place.startswith(f"{missing}.")):
            raise Problem(_no_module(place, folder))
        traceback_for_people(error)
        raise Problem(_not_installed(missing, place))
    except Problem:
        raise
    except SystemExit:
        raise Problem(
            f"`{place}` ended the program while it was imported. Put what it does when it is run "
            'under `if __name__ == "__main__":`'
        )
    except BaseException as error:
        traceback_for_people(error)
        raise Problem(f"`{place}` cannot be imported: {described(error, folder)}")


def _from_file(place: str, folder: str, key: str = "target") -> ModuleType:
    """Import a file that this key names, as a module of the package that it stands in, if any."""
    file = os.path.normpath(os.path.join(folder, place))
    if os.path.isdir(file):
        file = os.path.join(file, "__init__.py")
    if not os.path.isfile(file):
        raise Problem(f"there is no file `{place}` in {_shown(folder)}. Correct `{key}`")
    root, stem = os.path.split(file[:-3])
    names = [] if stem == "__init__" else [stem]
    while os.path.isfile(os.path.join(root, "__init__.py")):
        above, last = os.path.split(root)
        if not last.isidentifier():
            break
        root = above
        names.insert(0, last)
    _on_path(root)
    if names and _levels(file) >= len(names) and os.path.isfile(os.path.join(root, "__init__.py")):
        return _in_package(root, names)
    dotted = ".".join(names)
    plain = all(name.isidentifier() for name in names)
    if plain and (len(names) > 1 or dotted not in sys.modules):
        found = importlib.import_module(dotted)
        if os.path.realpath(getattr(found, "__file__", None) or "") == os.path.realpath(file):
            return found
    own = "target_" + re.sub(r"\W", "_", dotted)
    spec = importlib.util.spec_from_file_location(own, file)
    if spec is None or spec.loader is None:
        raise Problem(f"`{place}` is no Python file. Correct `target`")
    module = importlib.util.module_from_spec(spec)
    sys.modules[own] = module
    spec.loader.exec_module(module)
    return module


_RELATIVE = re.compile(r"^[ \t]*from[ \t]+(\.+)", re.M)


def _levels(file: str) -> int:
    """Return how many folders up the file's own imports reach, 0 if none is relative."""
    with open(file, encoding="utf-8", errors="replace") as opened:
        return max(map(len, _RELATIVE.findall(opened.read())), default=0)


def _in_package(folder: str, names: list[str]) -> ModuleType:
    """Import a module of a package whose folder is called as no package can be: an export is."""
    package = "target_package"
    spec = importlib.util.spec_from_file_location(
        package, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[package] = module
    spec.loader.exec_module(module)
    return importlib.import_module(".".join([package, *names]))


def _on_path(folder: str) -> None:
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path.insert(0, folder)


def _no_module(place: str, folder: str) -> str:
    first = place.partition(".")[0]
    listed = sorted(os.listdir(folder))
    names = [one[:-3] if one.endswith(".py") else one for one in listed if not one.startswith(".")]
    return (
        f"there is no module `{place}` in {_shown(folder)}, in its `src`, or installed"
        f"{_near(first, names)}. `target` is `module:object` or `path/to/file.py:object`, seen "
        "from `runtime.cwd`"
    )


def _not_installed(missing: str, place: str) -> str:
    package = missing.rpartition(".")[0]
    if package and _there(package):
        return f"`{place}` imports `{missing}`, which `{package}` does not have. Correct the import"
    known = (
        one.package
        for one in FRAMEWORKS.values()
        if any(f"{missing}.".startswith(prefix) for prefix in one.classes)
    )
    name = next(known, missing.partition(".")[0])
    return (
        f"`{place}` imports `{missing}`, which {_python()} does not have. Install `{name}` in "
        "`runtime.setup`, or name in `runtime.interpreter` the Python that has it"
    )


def _python() -> str:
    version = ".".join(map(str, sys.version_info[:2]))
    return f"this Python ({version}, {_shown(sys.prefix)})"


def _attribute(found: Any, name: str, place: str) -> Any:
    try:
        return getattr(found, name)
    except AttributeError:
        own = vars(found) if hasattr(found, "__dict__") else {}
        names = [one for one in own if not one.startswith("_") and not inspect.ismodule(own[one])]
        raise Problem(f"`{place}` has no `{name}`{_near(name, names)}")


def _only(module: ModuleType, place: str) -> Any:
    """Return the one object of a module that a framework knows; `root_agent` before all others."""
    for name in ("root_agent", "app", "graph"):
        if framework_of(getattr(module, name, None)):
            return getattr(module, name)
    inner = getattr(module, "agent", None)
    if inspect.ismodule(inner) and hasattr(inner, "root_agent"):
        return inner.root_agent
    if hasattr(module, "__path__") and importlib.util.find_spec(f"{module.__name__}.agent"):
        inner = importlib.import_module(f"{module.__name__}.agent")
        if hasattr(inner, "root_agent"):
            return inner.root_agent
    own = {name: one for name, one in vars(module).items() if not name.startswith("_")}
    known = [name for name, one in own.items() if framework_of(one) and not isinstance(one, type)]
    if len(known) == 1:
        return own[known[0]]
    many = ", ".join(f"`{place}:{one}`" for one in known[:8])
    raise Problem(
        f"`{place}` has several agents. Say which one `target` means: {many}"
        if known
        else f"`{place}` has no agent of a framework that is known here. Name the object or the "
        f"function: `target: {place}:NAME`"
    )


def _called(found: Any, target: str) -> Any:
    if not callable(found):
        raise Problem(f"`{target}` is {_kind(found)} and cannot be called. Remove the `()`")
    made = found()
    return waited(made) if inspect.isawaitable(made) else made


def _near(name: str, names: Iterable[str]) -> str:
    known = [one for one in names if one]
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f". Did you mean `{near[0]}`?"
    shown = ", ".join(f"`{one}`" for one in known[:8])
    return f"; there is {shown}" if shown else ""


def _shown(folder: str) -> str:
    inside = os.path.relpath(folder, FOLDER)
    if inside == ".":
        return "the working directory"
    return folder if inside.startswith("..") else inside


def _kind(found: Any) -> str:
    kind = type(found)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"of the type `{module}{kind.__name__}`"


def described(error: BaseException, folder: str) -> str:
    """Return what was raised, and where in the program, as the end of a sentence."""
    text = cut(" ".join(str(error).split()), 300)
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if isinstance(error, SyntaxError) and error.filename:
        return f"{said} ({os.path.relpath(error.filename, folder)}:{error.lineno})"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((OWN, "<")) and _own_file(os.path.abspath(frame.filename)):
            return f"{said} ({os.path.relpath(frame.filename, folder)}:{frame.lineno})"
    return said


def mistaken(error: BaseException, found: Any, framework: str, target: str) -> str:
    """Return a sentence on an error of an object that is of another framework than is said; empty
    for errors that the program itself raises.
    """
    seen = framework_of(found)
    if not isinstance(error, (TypeError, AttributeError)) or framework in ("", "callable", seen):
        return ""
    files = [one.filename for one in traceback.extract_tb(error.__traceback__)]
    own = [
        one for one in files if not one.startswith((OWN, "<")) and _own_file(os.path.abspath(one))
    ]
    if framework not in FRAMEWORKS or own:
        return ""
    rather = seen or ("callable" if callable(found) and not isinstance(found, type) else "")
    advice = f"Remove `framework`, or write `framework: {rather}`" if rather else "Correct one"
    return (
        f"`framework: {framework}` does not drive `{target}`, which is {_kind(found)} "
        f"({cut(str(error), 160)}). {advice}"
    )


def traceback_for_people(error: BaseException) -> None:
    """Print where it was raised, without the frames of the bridge."""
    kept = error.__traceback__
    while kept is not None and not _own_file(os.path.abspath(kept.tb_frame.f_code.co_filename)):
        kept = kept.tb_next
    traceback.print_exception(type(error), error, kept)


def cut(text: str, most: int) -> str:
    """Return a text, with a sign where more of it was left out."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def bridge_of(found: Any, framework: str, target: str, folder: str) -> Any:
    """Return what drives the object. Calls a function that takes nothing: it makes the agent."""
    if framework.endswith(".py"):
        own = _from_file(framework, folder, "framework")
        if not callable(getattr(own, "Bridge", None)):
            raise Problem(f"`{framework}` has no class `Bridge`. See the guide on bridges")
        return own.Bridge(found)
    seen = framework_of(found)
    makes = inspect.isroutine(found) and _takes_nothing(found)
    if not seen and makes and framework not in ("callable", "langgraph"):
        found = _called(found, target)
        seen = framework_of(found)
        if not seen and not callable(found):
            raise Problem(
                f"`{target}` takes nothing, and what it makes is {_kind(found)}: it cannot "
                "be asked. Have it take the question"
            )
    name = framework or seen
    if not name:
        if not callable(found) or isinstance(found, type):
            known = ", ".join(one for one in FRAMEWORKS if one != "callable")
            raise Problem(
                f"`{target}` is {_kind(found)}, which no bridge drives. Name an agent of "
                f"{known}, or a function; or write a bridge of your own and name its file in "
                "`runtime.framework`"
            )
        name = "callable"
    if framework and framework != "callable" and seen != framework:
        wanted = FRAMEWORKS[framework]
        if not any(_there(prefix[:-1]) for prefix in wanted.classes):
            raise Problem(
                f"`framework: {framework}` needs the package `{wanted.package}`, which "
                f"{_python()} does not have. Install it in `runtime.setup`"
            )
    return adapter(FRAMEWORKS[name].file).Bridge(found)


def _there(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _takes_nothing(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return not parameters


def adapter(name: str) -> ModuleType:
    """Load one of the files beside this one, which are on nobody's path."""
    spec = importlib.util.spec_from_file_location(
        f"gateval_bridge_{name}", os.path.join(OWN, f"{name}.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
