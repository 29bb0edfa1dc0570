"""A job of a GitHub workflow that uses the gate, and what its expressions come to.

https://docs.github.com/en/actions/reference/workflows-and-actions/expressions. Pure. Names that
nobody told about are unknown, and so is what hangs on them.

Also which jobs GitHub starts for what happens to a pull request, by its events and filters:
https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax. A check that is
required and that no job reports is waited for without end, and a green that nobody measured is
worse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import re2


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
    an environment, which may keep its secrets from a workflow edited on a branch. `uploads` are
    artifacts that every attempt gives the same name.
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
    uploads: tuple[Line, ...] = ()
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

    A merge queue's pull requests and their labels are only read; a push has none. What another
    attempt of the run left is had through GitHub's API alone.
    """
    if not job.publishes:
        return {"contents": "read", **({"actions": "read"} if "parts" in job.inputs else {})}
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


PULL, QUEUE = "pull_request", "merge_group"

USUAL_TYPES = frozenset({"opened", "synchronize", "reopened"})
"""The types of `pull_request` that start a run where none are written."""

MOST_FILES = 300
"""Changed files that GitHub's filter of paths looks at."""

_VARYING = re.compile(
    r"(?:inputs|matrix|github\.(?:ref|head_ref|ref_name|sha|run_id|run_number|event\.(?:number|after"
    r"|client_payload|merge_group\.head|pull_request\.(?:number|id|node_id|url|html_url|head))))(?:\.|\Z)"
)
"""The beginnings of names that differ between two pull requests."""


class Occasion(NamedTuple):
    """What happens on GitHub: the event and its action, and what can be asked about it.

    `base` is the target branch, None where it is any; `files` are the paths that the change
    touches, None where they are any.
    """

    event: str
    action: str
    base: str | None = None
    files: tuple[str, ...] | None = None
    facts: Facts = {}


class JobReach(NamedTuple):
    """Whether a job runs, None where that cannot be told; and why not, as half a sentence."""

    runs: bool | None
    why: str = ""
    line: int = 1


YES = JobReach(runs=True)


def a_push(repository: str, base: str | None, **known: object) -> Occasion:
    """Return somebody's push to a pull request of the repository's own branches."""
    facts: dict[str, object] = {
        **pull_facts(repository, base, own=True),
        "github.event.action": "synchronize",
        "github.event.label": None,
        **known,
    }
    return Occasion(PULL, "synchronize", base, None, facts)


def pull_facts(repository: str, base: str | None, *, own: bool) -> dict[str, object]:
    """Return what is known of each event about a pull request; `own` of no fork, by no bot."""
    here: object = repository or UnknownValue("github.repository")
    facts: dict[str, object] = {
        "github.event_name": PULL,
        "github.repository": here,
        "github.event.repository.full_name": here,
        "github.event.pull_request.base.repo.full_name": here,
        "github.event.pull_request.draft": False,
        "github.event.pull_request.state": "open",
        "github.event.pull_request.labels": (),
        "github.event.pull_request.labels.*.name": (),
        "github.event.issue": None,
        "github.event.merge_group": None,
        "github.event.workflow_run": None,
        "github.actor": "a-person",
        "github.triggering_actor": "a-person",
        "github.event.pull_request.user.login": "a-person",
        "github.event.pull_request.user.type": "User",
        "github.event.sender.login": "a-person",
        "github.event.sender.type": "User",
    }
    if own:
        facts["github.event.pull_request.head.repo.full_name"] = here
        facts["github.event.pull_request.head.repo.fork"] = False
    if base is not None:
        facts["github.base_ref"] = facts["github.event.pull_request.base.ref"] = base
    return facts


def answer(job: GateJob, told: Occasion) -> JobReach:
    """Return whether GitHub runs a job for what happens."""
    if told.event not in job.events:
        return JobReach(runs=False, why=f"it is not started by {told.event}", line=job.line)
    filters = job.filters.get(told.event, EventFilter(line=job.line, types=job.types))
    types = filters.types or (USUAL_TYPES if told.event == PULL else frozenset({told.action}))
    if told.action not in types:
        why = f"no run starts on {told.action}"
        return JobReach(runs=False, why=why, line=filters.line)
    for found in (_on_branch(filters, told.base), _on_paths(filters, told.files)):
        if found.runs is not True:
            return found
    said = [(line, holds(line.text, told.facts)) for line in job.conditions]
    for line, result in said:
        if result is False:
            return JobReach(runs=False, why=f"its `if` does not hold: {line.text}", line=line.line)
    for line, result in said:
        if result is None:
            why = f"whether its `if` holds is not seen from here: {line.text}"
            return JobReach(runs=None, why=why, line=line.line)
    return YES


def _on_branch(filters: EventFilter, base: str | None) -> JobReach:
    if base is None or not (filters.branches or filters.branches_ignore):
        return YES
    listed = not filters.branches or chosen(filters.branches, base)
    if listed and not any(_matches(one, base) for one in filters.branches_ignore):
        return YES
    why = f"its filter of branches leaves out {base}"
    return JobReach(runs=False, why=why, line=filters.line)


def _on_paths(filters: EventFilter, files: tuple[str, ...] | None) -> JobReach:
    if not (filters.paths or filters.paths_ignore):
        return YES
    if files is None:
        why = "its filter of paths leaves out changes that touch nothing of it"
        return JobReach(runs=False, why=why, line=filters.line)
    seen = files[:MOST_FILES]
    hit = any(
        chosen(filters.paths, path)
        if filters.paths
        else not any(_matches(one, path) for one in filters.paths_ignore)
        for path in seen
    )
    if hit:
        return YES
    why = "its filter of paths leaves out all that this change touches"
    if len(files) > MOST_FILES:
        why = f"GitHub's filter of paths looks at {MOST_FILES} changed files only"
        return JobReach(runs=None, why=why, line=filters.line)
    return JobReach(runs=False, why=why, line=filters.line)


def chosen(patterns: Sequence[str], text: str) -> bool:
    """Whether a list of GitHub's filter patterns chooses a name: the last that matches counts."""
    found = False
    for pattern in patterns:
        if _matches(pattern.removeprefix("!"), text):
            found = not pattern.startswith("!")
    return found


def _matches(pattern: str, text: str) -> bool:
    compiled = _compiled(pattern)
    return compiled is not None and compiled.fullmatch(text) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re2.Pattern[str] | None:
    """Return GitHub's pattern in linear time; None for one that is none."""
    import re2

    source, at = "", 0
    while at < len(pattern):
        one = pattern[at]
        end = pattern.find("]", at) if one == "[" else -1
        if pattern.startswith("**/", at):
            source, at = source + "(?:(?s:.*)/)?", at + 3
        elif pattern.startswith("**", at):
            source, at = source + "(?s:.*)", at + 2
        elif end > 0:
            source, at = source + pattern[at : end + 1], end + 1
        elif one == "\\" and at + 1 < len(pattern):
            source, at = source + re2.escape(pattern[at + 1]), at + 2
        else:
            source += {"*": "[^/]*", "?": "?", "+": "+"}.get(one, re2.escape(one))
            at += 1
    try:
        return re2.compile(source)
    except re2.error:
        return None


def shared_group(job: GateJob) -> Line | None:
    """Return the concurrency group that all pull requests share; None if each has its own."""
    for group in job.groups:
        if not any(map(_VARYING.match, names_in(group.text))):
            return group
    return None
