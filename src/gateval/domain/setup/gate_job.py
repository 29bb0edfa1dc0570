"""A job of a GitHub workflow that uses the gate, and what its expressions come to.

https://docs.github.com/en/actions/reference/workflows-and-actions/expressions. Pure. Names that
nobody told about are unknown, and so is what hangs on them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

NEEDED = {"contents": "write", "pull-requests": "write", "checks": "write"}
"""What the token of a job needs that evaluates pull requests and publishes the result.

Where it may not write `contents`, nothing that was found is recorded, and no label counts.
"""

_RECORDED = frozenset({"pull_request", "workflow_dispatch", "issue_comment"})
"""Events about a pull request whose verdict is recorded."""

COMMENTED = frozenset({"pull_request", "workflow_dispatch", "workflow_run", "issue_comment"})
"""Events that are about a pull request, which gets a comment."""

RUN_MINUTES = 50.0
"""Minutes after which a run ends, unless `max-minutes` says otherwise."""

JOB_MINUTES = 360.0
"""Minutes after which GitHub ends a job, unless its `timeout-minutes` says otherwise."""

_LEVELS = ("none", "read", "write")
_ALL = {"read-all": "read", "write-all": "write"}


class Minutes(NamedTuple):
    """After how many minutes GitHub ends a job, and the gate its run; None for what is written as
    an expression.
    """

    job: float | None = JOB_MINUTES
    run: float | None = RUN_MINUTES


class Line(NamedTuple):
    """A text of a workflow, and the line where it stands."""

    text: str
    line: int


class EventFilter(NamedTuple):
    """The filters of one event in `on`; `types` are empty where GitHub's default counts."""

    line: int = 1
    types: frozenset[str] = frozenset()
    branches: tuple[str, ...] = ()
    branches_ignore: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    paths_ignore: tuple[str, ...] = ()


class Checkout(NamedTuple):
    """What brings the repository before the gate's step. `seen` is None where that is unknown.

    `folder` is empty for the workspace itself, where the gate looks.
    """

    seen: bool | None = True
    folder: str = ""


class GateJob(NamedTuple):
    """`check` is the name under which GitHub shows the job itself, `key` its name in the file.

    `permissions` is None where neither job nor workflow says any: the repository's default counts.
    `step` is the input of this name, `inputs` the names of all that the gate's step gets in `with`,
    `variables` the names that it gets from `env`. `types` are those of `pull_request`, empty where
    GitHub's default counts, which knows no labels. `own_token` says that the step has another token
    than the job's, an App's for instance; what that may do no workflow says. `called` is the
    workflow that the job calls, empty if it has steps itself; what that does is not seen from here.
    `filters` are those of each event. `conditions` are what has to hold for the gate to run,
    `tolerated` what lets the job pass where the gate fails, `groups` its concurrency. `ran_before`
    are the steps before the gate's that can run a change's code, `ran_beside` all such in the job,
    and `shared` the names of variables that they get, too. `guarded` says that the job names
    an environment, which may keep its secrets from a workflow edited on a branch.
    """

    path: str
    check: str
    events: frozenset[str]
    permissions: Mapping[str, str] | str | None
    variables: frozenset[str]
    step: str = "all"
    inputs: tuple[str, ...] = ()
    types: frozenset[str] = frozenset()
    own_token: bool = False
    called: str = ""
    minutes: Minutes = Minutes()
    line: int = 1
    filters: Mapping[str, EventFilter] = MappingProxyType({})
    conditions: tuple[Line, ...] = ()
    tolerated: tuple[Line, ...] = ()
    groups: tuple[Line, ...] = ()
    checkout: Checkout = Checkout()
    ran_before: tuple[Line, ...] = ()
    ran_beside: tuple[Line, ...] = ()
    shared: frozenset[str] = frozenset()
    guarded: bool = False
    key: str = ""

    @property
    def publishes(self) -> bool:
        """Whether the job is to write comment and check run."""
        return self.step in {"all", "publish"}

    @property
    def place(self) -> str:
        """Where the job stands, for a sentence about it."""
        return f"{self.path}:{self.line}, job {self.check}"


LABELING = ("labeled", "unlabeled")
"""The types of `pull_request` that labels start."""


def records(job: GateJob) -> bool | None:
    """Say whether a job's token may write audit log and verdicts; None where nobody says."""
    return (
        None
        if job.permissions is None or job.own_token
        else _level(job.permissions, "contents") == "write"
    )


def needed(job: GateJob) -> Mapping[str, str]:
    """Return what a job's token needs, by what it does and for which events.

    A merge queue's pull requests and their labels are only read; a push has none.
    """
    if not job.publishes:
        return {"contents": "read"}
    contents = "write" if job.events & _RECORDED else "read"
    if job.events & COMMENTED:
        return {**NEEDED, "contents": contents}
    return {
        **NEEDED,
        "contents": contents,
        "pull-requests": "read" if "merge_group" in job.events else "none",
    }


def lacking(job: GateJob) -> tuple[str, ...]:
    """Return the permissions that a job lacks, as a workflow writes them."""
    given = job.permissions
    if given is None:
        return ()
    return tuple(
        f"{name}: {level}"
        for name, level in needed(job).items()
        if _LEVELS.index(level) > _LEVELS.index(_level(given, name))
    )


def _level(given: Mapping[str, str] | str, name: str) -> str:
    level = _ALL.get(given, "none") if isinstance(given, str) else given.get(name, "none")
    return level if level in _LEVELS else "none"


Facts = Mapping[str, Any]
"""Values by the lower-case names of expressions: `github.event_name`. None is null. `success()` and
`failure()` may be told, too."""

_LONGEST = 4_000
_DEEPEST = 40
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)"
    r"|(?P<name>[A-Za-z_][\w-]*(?:\.(?:[\w-]+|\*)|\['[^']*'\])*)"
    r"|(?P<sign>\|\||&&|==|!=|<=|>=|[!<>(),]))"
)
_WRAPPED = re.compile(r"\$\{\{(?P<inner>(?:(?!\}\}).)*)\}\}", re.DOTALL)

_TEXTS = re.compile(r"'(?:[^']|'')*'")
_STATUS = re.compile(r"\b(?:always|success|failure|cancelled)\s*\(", re.IGNORECASE)


class UnknownValue(NamedTuple):
    """A value that nobody told, by its name; empty for one that was computed."""

    name: str = ""


_UNKNOWN = UnknownValue()


def holds(text: str, facts: Facts) -> bool | None:
    """Return whether a condition holds; None where that is unknown, or it cannot be read."""
    whole = _WRAPPED.fullmatch(text.strip())
    inner = whole["inner"] if whole else text
    if len(inner) > _LONGEST or "${{" in inner:
        return None
    try:
        value = _Reader(inner, facts).whole()
    except (ValueError, TypeError, RecursionError):
        return None
    return None if isinstance(value, UnknownValue) else _true(value)


def asks_status(text: str) -> bool:
    """Whether a condition asks how the steps before ended; GitHub adds `success() &&` to others."""
    return _STATUS.search(_TEXTS.sub("", text)) is not None


def names_in(text: str) -> frozenset[str]:
    """Return the names that a text with `${{ }}` asks for, in lower case."""
    parts = (found["inner"] for found in _WRAPPED.finditer(text[:_LONGEST]))
    return frozenset(
        _plain(found["name"]) for part in parts for found in _TOKEN.finditer(part) if found["name"]
    )


def _plain(name: str) -> str:
    return re.sub(r"\['([^']*)'\]", r".\1", name).lower()


def _true(value: Any) -> bool:
    return value not in (None, False, 0, "")


class _Reader:
    """Reads and evaluates at once, by precedence."""

    def __init__(self, text: str, facts: Facts) -> None:
        self._tokens = _tokens(text)
        self._facts = facts
        self._at = 0
        self._depth = 0

    def whole(self) -> Any:
        value = self._or()
        if self._at != len(self._tokens):
            raise ValueError("more follows")
        return value

    def _or(self) -> Any:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("too deep")
        value = self._and()
        while self._take("||"):
            other = self._and()
            value = _either(value, other)
        self._depth -= 1
        return value

    def _and(self) -> Any:
        value = self._compared()
        while self._take("&&"):
            other = self._compared()
            value = _both(value, other)
        return value

    def _compared(self) -> Any:
        value = self._single()
        while sign := self._take("==", "!=", "<", ">", "<=", ">="):
            other = self._single()
            value = _compare(sign, value, other)
        return value

    def _single(self) -> Any:
        if self._take("!"):
            value = self._single()
            return value if isinstance(value, UnknownValue) else not _true(value)
        if self._take("("):
            value = self._or()
            self._expect(")")
            return value
        kind, text = self._next()
        if kind == "text":
            return text[1:-1].replace("''", "'")
        if kind == "number":
            return float(text)
        if kind != "name":
            raise ValueError(text)
        return self._call(text) if self._take("(") else _look_up(_plain(text), self._facts)

    def _call(self, name: str) -> Any:
        given: list[Any] = []
        while not self._take(")"):
            given.append(self._or())
            if not self._take(","):
                self._expect(")")
                break
        if not given and f"{name.lower()}()" in self._facts:
            return self._facts[f"{name.lower()}()"]
        made = _FUNCTIONS.get(name.lower())
        if made is None or any(isinstance(one, UnknownValue) for one in given):
            return _UNKNOWN
        return made(*given)

    def _next(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            raise ValueError("it ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, *signs: str) -> str:
        here = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        if here[0] != "sign" or here[1] not in signs:
            return ""
        self._at += 1
        return here[1]

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise ValueError(f"{sign} is missing")


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at, text = [], 0, text.rstrip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(text[at:])
        found.append((str(token.lastgroup), token[str(token.lastgroup)]))
        at = token.end()
    return found


def _look_up(name: str, facts: Facts) -> Any:
    if name in {"true", "false", "null"}:
        return {"true": True, "false": False, "null": None}[name]
    if name in facts:
        return facts[name]
    parts = name.split(".")
    around = (".".join(parts[:end]) for end in range(1, len(parts)))
    return (
        None if any(one in facts and facts[one] is None for one in around) else UnknownValue(name)
    )


def _either(one: Any, other: Any) -> Any:
    if isinstance(one, UnknownValue):
        return True if not isinstance(other, UnknownValue) and _true(other) else _UNKNOWN
    return one if _true(one) else other


def _both(one: Any, other: Any) -> Any:
    if isinstance(one, UnknownValue):
        return False if not isinstance(other, UnknownValue) and not _true(other) else _UNKNOWN
    return other if _true(one) else one


def _compare(sign: str, one: Any, other: Any) -> Any:
    if isinstance(one, UnknownValue) or isinstance(other, UnknownValue):
        same = one == other != _UNKNOWN and sign in {"==", "!="}
        return sign == "==" if same else _UNKNOWN
    if isinstance(one, str) and isinstance(other, str):
        one, other = one.lower(), other.lower()
    elif type(one) is not type(other):
        one, other = _number(one), _number(other)
    if sign in {"==", "!="}:
        return (one == other) is (sign == "==")
    order = {"<": one < other, ">": one > other, "<=": one <= other, ">=": one >= other}
    return order[sign]


def _number(value: Any) -> float:
    try:
        return float(value or 0)
    except (TypeError, ValueError):
        return float("nan")


def _contains(where: Any, what: Any) -> bool:
    if isinstance(where, list | tuple):
        return any(_compare("==", one, what) for one in where)
    return str(what or "").lower() in str(where or "").lower()


def _from_json(text: Any) -> Any:
    return json.loads(str(text))


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "contains": _contains,
    "startswith": lambda text, start: str(text or "").lower().startswith(str(start).lower()),
    "endswith": lambda text, end: str(text or "").lower().endswith(str(end).lower()),
    "fromjson": _from_json,
    "always": lambda: True,
    "success": lambda: True,
    "failure": lambda: False,
    "cancelled": lambda: False,
}
