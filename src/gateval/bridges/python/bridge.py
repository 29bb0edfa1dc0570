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

import collections
import contextlib
import enum
import importlib.util
import inspect
import json
import math
from collections.abc import Iterable, KeysView, Mapping, ValuesView
from collections.abc import Set as AbstractSet
from typing import Any

OWN = os.path.dirname(os.path.abspath(__file__))

MOST = 600
"""Characters of a sentence."""


def _loading() -> Any:
    """Load the file beside this one that finds the object; it is on nobody's path."""
    spec = importlib.util.spec_from_file_location(
        "gateval_bridge_loading", os.path.join(OWN, "loading.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


loading = _loading()
Problem = loading.Problem


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
        if chosen is None and len(left) == 1 and self.messages not in found.values():
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
    def refusal(sentence: str) -> Exception:
        """Return what to raise where there can be no answer."""
        problem: Exception = Problem(sentence)
        return problem


TEXTS = (
    "prompt", "question", "query", "message", "text", "user_input", "user_message", "user_msg",
    "input", "input_text", "task", "topic", "request", "content", "q", "msg",
)  # fmt: skip
"""What a question is usually called, the most usual first."""

MESSAGES = frozenset({"messages", "conversation"})
HISTORIES = frozenset({"history", "chat_history", "message_history"})


def as_json(value: Any, above: tuple[int, ...] = ()) -> Any:
    """Return a value that JSON can hold: of models and data classes, their fields. Sets are sorted,
    so that they are the same in each trial. Raises `Speechless` for what cannot be told.
    """
    if isinstance(value, enum.Enum):
        return as_json(value.value, above)
    if value is None or isinstance(value, (str, int, float, bool)):
        odd = isinstance(value, float) and not math.isfinite(value)
        return str(value) if odd else value
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    if id(value) in above:
        raise Speechless(f"{_type_name(value)}, which holds itself")
    return _inside(value, (*above, id(value)))


def _inside(value: Any, above: tuple[int, ...]) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(as_json(key)): as_json(one, above) for key, one in value.items()}
    if isinstance(value, LISTED):
        return [as_json(one, above) for one in value]
    if isinstance(value, AbstractSet):
        return sorted((as_json(one, above) for one in value), key=json.dumps)
    if callable(getattr(value, "model_dump", None)):
        return as_json(value.model_dump(mode="json"), above)
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields:
        return {name: as_json(getattr(value, name), above) for name in fields}
    try:
        shown = plain(value)
    except Speechless as kind:
        if len(above) == 1:
            raise
        return f"<{kind}>"
    return str(value) if shown is value else as_json(shown, above)


LISTED = (list, tuple, range, KeysView, ValuesView, collections.deque)


def _type_name(value: Any) -> str:
    kind = type(value)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def plain(value: Any) -> Any:
    """Return the public fields of an object that has no text of its own, and all else as it is."""
    kind = type(value)
    own = any(getattr(kind, one) is not getattr(object, one) for one in ("__str__", "__repr__"))
    if own or callable(getattr(value, "model_dump", None)):
        return value
    fields = {name: one for name, one in getattr(value, "__dict__", {}).items() if name[:1] != "_"}
    if not fields:
        raise Speechless(_type_name(value))
    return fields


class Speechless(Exception):
    """An object of this type, of which nothing can be told but its address."""


class Talk:
    """The questions of one process to one object."""

    def __init__(self, target: str, framework: str, alone: bool) -> None:
        self._target = target
        self._framework = framework
        self._alone = alone
        self._folder = loading.FOLDER
        self._said: list[dict[str, Any]] = []
        self._bridge: Any = None
        self._found: Any = None

    def answer(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to one question. The object is loaded with the first."""
        try:
            if self._bridge is None:
                found = loading.load(self._target, self._folder)
                graphs = self._target.partition(":")[0].endswith(".json")
                framework = self._framework or ("langgraph" if graphs else "")
                self._found = found
                self._bridge = loading.bridge_of(found, framework, self._target, self._folder)
            question = Question(told, self._said, self._alone)
            output = self._asked(question)
        except Problem as problem:
            return self._problem(str(problem))
        except Speechless as kind:
            return self._problem(
                f"`{self._target}` answered with something of the type `{kind}`, which is neither "
                "a text nor what JSON can hold"
            )
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            loading.traceback_for_people(error)
            mistaken = loading.mistaken(error, self._found, self._framework, self._target)
            if mistaken:
                return self._problem(mistaken)
            return self._problem(
                f"`{self._target}` raised {loading.described(error, self._folder)}"
            )
        if output is None or output == "":
            return self._problem(
                f"`{self._target}` answered nothing. It has to return its last message"
            )
        said = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        self._said = [*question.messages, {"role": "assistant", "content": said}]
        return {"output": output}

    def _asked(self, question: Question) -> Any:
        made = self._bridge.ask(question)
        return as_json(loading.waited(made) if inspect.isawaitable(made) else made)

    def _problem(self, sentence: str) -> dict[str, Any]:
        text = sentence[:1].upper() + sentence[1:]
        said = loading.cut(text if text.endswith(("?", ".")) else f"{text}.", MOST)
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
    loading.FOLDER = os.path.abspath(folder)
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
    timer = loading.library("threading").Timer(SECONDS_TO_LEAVE, os._exit, (code,))
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
