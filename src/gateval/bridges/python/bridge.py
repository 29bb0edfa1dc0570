"""Has an object of a Python program answer: loads it, sees which framework it is of, asks it.

It runs in the agent's own interpreter, as `python bridge.py FOLDER TARGET FRAMEWORK once|turns`,
and knows nothing of the gate. Each line of standard input is a question, each line of standard
output an answer (`{"output": …}`) or a sentence on why there is none (`{"problem": …}`). What the
program itself prints goes to standard error, and what it reads is empty.

All that it needs of Python's library is imported while nothing else is on the path, so that no
file of the program can take its place.
"""

from __future__ import annotations

import sys

HERE = sys.path[0] if sys.path else ""

import os

LIBRARY = os.path.dirname(os.path.abspath(os.__file__))
PATH = [one for one in sys.path if one]
sys.path[:] = [one for one in PATH if one.startswith(LIBRARY) and "-packages" not in one] + [
    one for one in PATH if one.endswith(".zip") and os.path.dirname(LIBRARY) == os.path.dirname(one)
]

LIBRARY_PATH = sys.path[:]

import contextlib
import difflib
import importlib
import importlib.util
import inspect
import json
import re
import traceback
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

OWN = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.getcwd()
"""Where the program's own files are; `main` is told."""

MOST = 600
"""Characters of a sentence."""


def library(name: str) -> Any:
    """Import a module of Python's own library, whatever the program has of that name."""
    before, sys.path[:] = sys.path[:], LIBRARY_PATH
    try:
        return importlib.import_module(name)
    finally:
        sys.path[:] = before


class Problem(Exception):
    """Why there is no answer: a sentence that says what to do next."""


class Question:
    """What is asked now.

    `prompt` is what the user says, as text; `messages` all that was said, this included, each with
    `role` and `content`; `history` what was said before it. `payload` and `type` are the input as
    it stands in the fixture. `first` says that nothing was asked before, `alone` that this is all.
    """

    def __init__(self, told: Mapping[str, Any], before: list[dict[str, Any]], alone: bool) -> None:
        given = told.get("input") or {}
        self.prompt: str = told.get("prompt", "")
        self.type: str = given.get("type", "prompt")
        self.payload: dict[str, Any] = given.get("payload") or {}
        self.first = not before
        self.alone = alone
        now = told.get("messages") or [{"role": "user", "content": self.prompt}]
        self.messages: list[dict[str, Any]] = [*before, *now]
        self.history = self.messages[:-1]

    def spoken(self) -> list[tuple[str, str]]:
        """Return what was said before, as role (system, user, assistant) and text."""
        found = []
        for message in self.history:
            if message.get("role") == "tool" or message.get("tool_calls"):
                raise self.refusal(
                    "the messages before the question hold calls of tools, which this bridge "
                    "cannot hand on. Leave them out, or point `target` at a function that takes "
                    "`messages`"
                )
            found.append((str(message.get("role", "user")), self.text(message.get("content"))))
        return found

    def text(self, content: Any) -> str:
        """Return the text of a message's content. Raises for files, which no text can hold."""
        if isinstance(content, str):
            return content
        parts = content if isinstance(content, list) else []
        if any(part.get("type") != "text" for part in parts):
            raise self.refusal(
                "the question comes with files, which this bridge cannot hand on. Point `target` "
                "at a function that takes `messages`"
            )
        return "\n".join(str(part.get("text", "")) for part in parts)

    @property
    def asked(self) -> str:
        """What the user says now, as text; refuses files."""
        content = self.messages[-1].get("content", self.prompt)
        return self.prompt if isinstance(content, str) else self.text(content)

    def transcript(self) -> str:
        """Return the question with what was said before it, as one text."""
        said = [f"{role}: {text}" for role, text in self.spoken()]
        if not said:
            return self.asked
        return "Earlier in this conversation:\n\n" + "\n\n".join(said) + f"\n\nNow:\n\n{self.asked}"

    def filled(self, names: Iterable[str], what: str) -> dict[str, Any]:
        """Return a value for each of these names, which `what` asks for.

        The payload gives those that it names. Of the rest, the question itself fills the one that
        is usually called so, or the only one.
        """
        wanted = list(names)
        found = {name: self.payload[name] for name in wanted if name in self.payload}
        left = [name for name in wanted if name not in found]
        for name in left:
            if name.lower() in MESSAGES:
                found[name] = self.messages
            elif name.lower() in HISTORIES:
                found[name] = self.history
        left = [name for name in left if name not in found]
        usual = [name for name in TEXTS if name in {one.lower() for one in left}]
        chosen = next((one for one in left if usual and one.lower() == usual[0]), None)
        if chosen is None and len(left) == 1:
            chosen = left[0]
        if chosen is not None and chosen in left:
            found[chosen] = self.asked
            left.remove(chosen)
        if left:
            names_left = ", ".join(f"`{name}`" for name in left)
            raise self.refusal(
                f"{what} asks for {names_left}, which the question does not give. Name them in the "
                "fixture's `input.payload`"
            )
        return found

    @staticmethod
    def refusal(sentence: str) -> Problem:
        """Return what to raise where there can be no answer."""
        return Problem(sentence)


TEXTS = (
    "prompt", "question", "query", "message", "text", "user_input", "user_message", "user_msg",
    "input", "input_text", "task", "topic", "request", "content", "q", "msg",
)  # fmt: skip
"""What a question is usually called, the most usual first."""

MESSAGES = frozenset({"messages", "conversation"})
HISTORIES = frozenset({"history", "chat_history", "message_history"})


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
    if _is_crew_base(kind):
        return "crewai"
    return ""


def _is_of(kind: type, prefix: str) -> bool:
    """Whether a class is of this package, and not of a folder of the program that is called so."""
    if not f"{kind.__module__}.".startswith(prefix):
        return False
    file = getattr(sys.modules.get(prefix[:-1]), "__file__", None) or ""
    return not _own_file(os.path.abspath(file)) if file else True


def _own_file(file: str) -> bool:
    inside = os.path.relpath(file, FOLDER)
    return not inside.startswith("..") and "-packages" not in inside


def _is_crew_base(kind: type) -> bool:
    return getattr(kind, "is_crew_class", False) is True


def name_of(target: str) -> str:
    """Return the target as a person knows it."""
    return f"`{target}`"


class Loaded(NamedTuple):
    """The object that a target names, and where it was found."""

    found: Any
    where: str


def load(target: str, folder: str) -> Any:
    """Return the object that `module:object`, `file.py:object` or `langgraph.json:graph` names; of
    ADK's `root_agent.yaml`, the agent that it describes.
    """
    place, _, name = target.partition(":")
    if place.endswith((".yaml", ".yml")):
        above = os.path.dirname(os.path.dirname(os.path.join(folder, place)))
        for one in (above, os.path.join(folder, "src"), folder):
            _on_path(one)
        return _adapter("google_adk").described(os.path.join(folder, place))
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
    if calls:
        found = _called(found, target)
    return found


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
        raise Problem(f"`{file}` names no `graphs` ({_cut(str(error), 80)}). Name one: {EXAMPLE}")
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


def _from_file(place: str, folder: str) -> ModuleType:
    """Import a file, as a module of the package that it stands in, if it does."""
    file = os.path.normpath(os.path.join(folder, place))
    if os.path.isdir(file):
        file = os.path.join(file, "__init__.py")
    if not os.path.isfile(file):
        raise Problem(f"there is no file `{place}` in {_shown(folder)}. Correct `target`")
    root, stem = os.path.split(file[:-3])
    names = [] if stem == "__init__" else [stem]
    while os.path.isfile(os.path.join(root, "__init__.py")):
        root, last = os.path.split(root)
        names.insert(0, last)
    _on_path(root)
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
    package = missing.partition(".")[0]
    name = next(
        (
            one.package
            for one in FRAMEWORKS.values()
            if any(f"{missing}.".startswith(prefix) for prefix in one.classes)
        ),
        package,
    )
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
        raise Problem(f"{name_of(target)} is {_kind(found)} and cannot be called. Remove the `()`")
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
    return (
        "the working directory"
        if inside == "."
        else inside
        if not inside.startswith("..")
        else folder
    )


def _kind(found: Any) -> str:
    kind = type(found)
    return (
        f"of the type `{kind.__name__}`"
        if kind.__module__ == "builtins"
        else (f"of the type `{kind.__module__}.{kind.__name__}`")
    )


def described(error: BaseException, folder: str) -> str:
    """Return what was raised, and where in the program, as the end of a sentence."""
    text = _cut(" ".join(str(error).split()), 300)
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if isinstance(error, SyntaxError) and error.filename:
        return f"{said} ({os.path.relpath(error.filename, folder)}:{error.lineno})"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((OWN, "<")) and _own_file(os.path.abspath(frame.filename)):
            return f"{said} ({os.path.relpath(frame.filename, folder)}:{frame.lineno})"
    return said


def traceback_for_people(error: BaseException) -> None:
    """Print where it was raised, without the frames of the bridge."""
    kept = error.__traceback__
    while kept is not None and not _own_file(os.path.abspath(kept.tb_frame.f_code.co_filename)):
        kept = kept.tb_next
    traceback.print_exception(type(error), error, kept)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


class Loop:
    """One event loop for all questions, made when something has to be waited for."""

    def __init__(self) -> None:
        self._loop: Any = None

    def wait(self, made: Any) -> Any:
        """Wait for an awaitable."""
        if self._loop is None:
            asyncio = library("asyncio")
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)

        async def waiting() -> Any:
            return await made

        return self._loop.run_until_complete(waiting())


LOOP = Loop()


def waited(made: Any) -> Any:
    """Return what an awaitable gives, on the one loop of this process."""
    return LOOP.wait(made)


def bridge_of(found: Any, framework: str, target: str, folder: str) -> Any:
    """Return what drives the object. Calls a function that takes nothing: it makes the agent."""
    if framework.endswith(".py"):
        own = _from_file(framework, folder)
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
                f"{name_of(target)} takes nothing, and what it makes is {_kind(found)}: it cannot "
                "be asked. Have it take the question"
            )
    name = framework or seen
    if not name:
        if not callable(found) or isinstance(found, type):
            known = ", ".join(one for one in FRAMEWORKS if one != "callable")
            raise Problem(
                f"{name_of(target)} is {_kind(found)}, which no bridge drives. Name an agent of "
                f"{known}, or a function; or write a bridge of your own and name its file in "
                "`runtime.framework`"
            )
        name = "callable"
    if framework and framework != "callable" and seen != framework:
        _check_installed(framework)
    return _adapter(FRAMEWORKS[name].file).Bridge(found)


def _check_installed(framework: str) -> None:
    packages = [prefix[:-1] for prefix in FRAMEWORKS[framework].classes]
    if not any(_there(one) for one in packages):
        raise Problem(
            f"`framework: {framework}` needs the package `{FRAMEWORKS[framework].package}`, which "
            f"{_python()} does not have. Install it in `runtime.setup`"
        )


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


def _adapter(name: str) -> ModuleType:
    """Load one of the files beside this one, which are on nobody's path."""
    spec = importlib.util.spec_from_file_location(
        f"gateval_bridge_{name}", os.path.join(OWN, f"{name}.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_json(value: Any) -> Any:
    """Return a value that JSON can hold: of models and data classes, their fields."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return {str(key): as_json(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(one) for one in value]
    if callable(getattr(value, "model_dump", None)):
        return as_json(value.model_dump(mode="json"))
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields:
        return {name: as_json(getattr(value, name)) for name in fields}
    return str(value)


class Talk:
    """The questions of one process to one object."""

    def __init__(self, target: str, framework: str, alone: bool) -> None:
        self._target = target
        self._framework = framework
        self._alone = alone
        self._folder = FOLDER
        self._said: list[dict[str, Any]] = []
        self._bridge: Any = None

    def answer(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to one question. The object is loaded with the first."""
        try:
            if self._bridge is None:
                found = load(self._target, self._folder)
                graphs = self._target.partition(":")[0].endswith(".json")
                framework = self._framework or ("langgraph" if graphs else "")
                self._bridge = bridge_of(found, framework, self._target, self._folder)
            question = Question(told, self._said, self._alone)
            output = self._asked(question)
        except Problem as problem:
            return self._problem(str(problem))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            traceback_for_people(error)
            return self._problem(f"{name_of(self._target)} raised {described(error, self._folder)}")
        if output is None or output == "":
            return self._problem(
                f"{name_of(self._target)} answered nothing. It has to return its last message"
            )
        said = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        self._said = [*question.messages, {"role": "assistant", "content": said}]
        return {"output": output}

    def _asked(self, question: Question) -> Any:
        made = self._bridge.ask(question)
        return as_json(waited(made) if inspect.isawaitable(made) else made)

    def _problem(self, sentence: str) -> dict[str, Any]:
        text = sentence[:1].upper() + sentence[1:]
        said = _cut(text if text.endswith(("?", ".")) else f"{text}.", MOST)
        return {"problem": said, "asked": self._bridge is not None}


def streams() -> tuple[Any, Any]:
    """Return where questions come from and answers go to, and give the program others."""
    questions = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return questions, answers


def main(words: list[str]) -> int:
    """Answer all questions; returns the exit status."""
    folder, target, framework, mode = words
    questions, answers = streams()
    global FOLDER
    FOLDER = os.path.abspath(folder)
    sys.path[:] = [one for one in PATH if os.path.abspath(one) != os.path.abspath(HERE or OWN)]
    if "OPENAI_BASE_URL" in os.environ:  # LlamaIndex reads the older name alone
        os.environ.setdefault("OPENAI_API_BASE", os.environ["OPENAI_BASE_URL"])
    sys.argv = [target.partition(":")[0]]
    talk, code = Talk(target, framework, mode == "once"), 0
    for line in questions:
        given = talk.answer(json.loads(line))
        answers.write(json.dumps(given, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        answers.flush()
        if "problem" in given:
            code = 1
            break
    _leave(code)
    return code


SECONDS_TO_LEAVE = 2.0


def _leave(code: int) -> None:
    """Have the process end soon, whatever threads the program has left behind."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    timer = library("threading").Timer(SECONDS_TO_LEAVE, os._exit, (code,))
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
