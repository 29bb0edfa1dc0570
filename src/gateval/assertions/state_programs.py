"""Assertions that ask a playground: `commandResult`, `environmentVariable`, `httpResponse`,
`sqlQuery`.
"""

from __future__ import annotations

import io
import re
import shlex
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from gateval.assertions.matching import NoText, json_equal, matches, quoted
from gateval.assertions.state_files import (
    JsonPath,
    Pattern,
    StateAssertion,
    instead,
    json_of,
    named,
    searched,
    shown,
    text_of,
)
from gateval.candidates.playground_files import StateUnreadable
from gateval.domain.manifests.playground import InnerPath, plain_path
from gateval.domain.trials.trial import Cause
from gateval.safe.legible import shorten

if TYPE_CHECKING:
    from gateval.candidates.playground_state import EndState


class CommandResult(StateAssertion):
    """A command ends with this exit code in the playground, and prints this, when the agent is
    done.

    It is a program of this machine, and works in a copy of the playground, as a user of its own,
    without keys and ports; `{playground}` in a word is the copy's path. What a candidate could
    write, it may have changed: bring tests of your own along by a `script`. A command that does
    not start or is late is an error. In a sealed Eval it works in an empty folder beside the copy.
    """

    starts_program: ClassVar[bool] = True

    command: tuple[str, ...] = Field(
        min_length=1, description="The program and its arguments; no shell reads them."
    )
    stdin: str = Field(default="", description="What it reads on standard input.")
    exit_code: int | None = Field(
        default=0, ge=0, le=255, description="How it has to end; `null` for any way."
    )
    stdout: str | None = Field(
        default=None, description="All that it prints, without white space around it."
    )
    stdout_contains: str | None = Field(default=None, description="A text that it prints.")
    stdout_matches: Pattern | None = Field(
        default=None, description="A pattern (of RE2) that matches in what it prints."
    )
    timeout_seconds: float = Field(default=30.0, gt=0, le=600, description="How long it may take.")

    @property
    def _expected(self) -> str:
        asked = [] if self.exit_code is None else [f"end with {self.exit_code}"]
        asked += [] if self.stdout is None else [f"print {quoted(self.stdout)}"]
        if self.stdout_contains is not None:
            asked.append(f"print something with {quoted(self.stdout_contains)}")
        if self.stdout_matches is not None:
            asked.append(f"print what matches /{self.stdout_matches}/")
        return f"{self._line} to {' and '.join(asked) or 'end'}"

    @property
    def _line(self) -> str:
        return f"`{shorten(shlex.join(self.command), 120)}`"

    async def _look(self, state: EndState) -> tuple[bool, str]:
        from gateval.candidates.playground_state import StateUnavailable
        from gateval.candidates.program import End

        ran = await state.run(self.command, self.stdin.encode(), self.timeout_seconds)
        if ran.end is not End.EXITED:
            late = ran.end is End.TIMED_OUT
            why = f"took over {self.timeout_seconds:g} s" if late else f"was ended, for {ran.end}"
            raise StateUnavailable(Cause.CHECK, f"{self._line} {why}")
        printed = ran.stdout.decode("utf-8", "replace")
        met = (
            self.exit_code in {None, ran.code}
            and (self.stdout is None or printed.strip() == self.stdout.strip())
            and (self.stdout_contains or "") in printed
        )
        if met and self.stdout_matches is not None:
            what = f"what {self._line} prints"
            met = await searched(self.stdout_matches, printed, what) is not None
        saw = f"exit code {ran.code} and {quoted(printed.strip())}"
        complaint = ran.stderr.decode("utf-8", "replace").strip()
        return met, saw + (
            f", on standard error {quoted(complaint)}" if complaint and not met else ""
        )


CHARACTERS = 65_536
"""Characters of an environment file that are read: the parser takes 4 µs for each."""

_BLANKS = re.compile(r"[^\S\r\n]{200}")
"""The parser looks through a row of blanks once for each of them: 1 MiB would take half an hour."""


class EnvironmentVariable(StateAssertion):
    """An environment variable has a value for programs in the playground when the agent is done.

    An environment file (lines `NAME=value`) says it; what that lacks is as the playground's `env`
    has it. It is read as python-dotenv reads it, but nothing is expanded in it, and a line of
    another form is an error; so is a file of more than 65,536 characters.
    """

    variable: str = Field(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200, description="Its name."
    )
    value: str | None = Field(default=None, description="Its whole value; any if both are absent.")
    pattern: Pattern | None = Field(
        default=None, description="A pattern (of RE2) that matches in its value."
    )
    path: InnerPath = Field(
        default=".env", description="The environment file's path in the playground."
    )

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        if self.value is not None and self.pattern is not None:
            raise ValueError("Say `value` or `pattern`, not both")
        return self

    @property
    def _expected(self) -> str:
        asked = "be set" if self.value is None else f"be {quoted(self.value)}"
        asked = asked if self.pattern is None else f"match /{self.pattern}/"
        return f"{self.variable} to {asked}, by {named(self.path)} or the playground's env"

    async def _look(self, state: EndState) -> tuple[bool, str]:
        try:
            said = variables(await text_of(state, self.path), named(self.path))
        except NoText:
            if await state.look(self.path) is not None:
                raise
            said = {}
        found = {**state.variables, **said}.get(self.variable)
        if found is None:
            raise NoText("it is not set")
        if self.pattern is not None:
            what = f"the value of {self.variable}"
            return await searched(self.pattern, found, what) is not None, quoted(found)
        return self.value in {None, found}, quoted(found)


def variables(text: str, what: str) -> dict[str, str]:
    """Return what an environment file sets, by name; the last line of a name counts.

    `what` names the file. Raises `StateUnreadable` for a line that sets nothing, and for too much.
    """
    from dotenv.parser import parse_stream

    if len(text) > CHARACTERS or _BLANKS.search(text):
        said = f"over {CHARACTERS:,} characters, or 200 blanks in a row"
        raise StateUnreadable(f"{what} has {said}, which no environment file has")
    found: dict[str, str] = {}
    for one in parse_stream(io.StringIO(text.removeprefix("\ufeff"))):
        if one.error or (one.key is not None and one.value is None):
            blank = one.original.string[: -len(one.original.string.lstrip())].count("\n")
            raise StateUnreadable(f"line {one.original.line + blank} of {what} is no NAME=value")
        if one.key is not None and one.value is not None:
            found[one.key] = one.value
    return found


class HttpResponse(StateAssertion):
    """A service of the playground answers this when the agent is done.

    The gate asks it, after the candidate has ended and before the service does. Redirects are not
    followed. A service that does not answer is an error.
    """

    asks_service: ClassVar[bool] = True

    service: str = Field(description="The name of the service in `playground.services`.")
    path: Annotated[str, Field(max_length=2000), AfterValidator(plain_path)] = Field(
        default="/", description="Path and query of the request."
    )
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = Field(
        default="GET", description="The method of the request."
    )
    body: JsonValue = Field(default=None, description="What is sent, as JSON; nothing if absent.")
    status: int | None = Field(
        default=200, ge=100, le=599, description="The status expected; `null` for any."
    )
    contains: str | None = Field(default=None, description="A text in the answer.")
    at: JsonPath | None = Field(
        default=None, description="The JSONPath of a value in the answer, which is then JSON."
    )
    value: JsonValue = Field(default=None, description="The value expected there.")
    timeout_seconds: float = Field(
        default=10.0, gt=0, le=120, description="How long the answer may take."
    )

    @model_validator(mode="after")
    def _names_a_value(self) -> Self:
        if self.at is None and "value" in self.model_fields_set:
            raise ValueError("`value` needs `at`, the JSONPath of what it is compared with")
        return self

    @property
    def _expected(self) -> str:
        asked = ["any status"] if self.status is None else [f"status {self.status}"]
        asked += [] if self.contains is None else [quoted(self.contains)]
        asked += [] if self.at is None else [f"{shown(self.value)} at `{self.at}`"]
        return f"`{self.service}` to answer {self.method} {self.path} with {' and '.join(asked)}"

    async def _look(self, state: EndState) -> tuple[bool, str]:
        from gateval.ports.model_calls import LocalRequest
        from gateval.wire.base import write_json

        body = None if self.body is None else write_json(self.body)
        headers = (("Content-Type", "application/json"),) if body is not None else ()
        request = LocalRequest(self.method, self.path, headers, body)
        reply = await state.ask(self.service, request, self.timeout_seconds)
        text = reply.body.decode("utf-8", "replace")
        met = self.status in {None, reply.status} and (self.contains or "") in text
        try:
            if met and self.at is not None:
                met = matches(self.value, json_of(text, self.at, "an answer"), subset=False)
        except NoText as lack:
            raise NoText(f"status {reply.status} and {lack}") from None
        return met, f"status {reply.status} and {quoted(text)}"


_NOT_THERE = ("no such table", "no such column", "no such view")
_OF_THE_QUERY = ('near "', "incomplete input", "unrecognized token", "attempt to write a readonly")
"""How messages begin that no database can bring about; views and triggers may any other."""

_FUNCTION = "no such function: "


class SqlQuery(StateAssertion):
    """A query of an SQLite database in the playground gives this when the agent is done.

    One of `rows`, `value` and `count` says what. A program of its own asks a copy of the database,
    which is not changed. A table or column that is not there fails; a file that is no database, and
    a query that is no SQL, are errors. A BLOB is its bytes in hex.
    """

    starts_program: ClassVar[bool] = True

    path: InnerPath = Field(
        default="playground.db", description="The database's path in the playground."
    )
    query: str = Field(min_length=1, max_length=10_000, description="One statement of SQL.")
    rows: tuple[tuple[JsonValue, ...], ...] | None = Field(
        default=None, description="All rows, in order (say ORDER BY): a list of values for each."
    )
    value: JsonValue = Field(default=None, description="The only value of the only row.")
    count: int | None = Field(default=None, ge=0, description="How many rows there are.")

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        given = [key for key in ("rows", "value", "count") if key in self.model_fields_set]
        if len(given) != 1:
            raise ValueError("Say one of `rows`, `value` and `count`")
        return self

    @property
    def _expected(self) -> str:
        asked = f"{self.count} rows" if self.count is not None else f"the value {shown(self.value)}"
        if self.rows is not None:
            asked = f"the rows {shown([[*row] for row in self.rows])}"
        return f"{asked} of `{shorten(self.query, 200)}` in {named(self.path)}"

    async def _look(self, state: EndState) -> tuple[bool, str]:
        found = await state.query(self.path, self.query)
        if not isinstance(found, dict):
            raise NoText(instead(found))
        if "error" in found:
            raise self._refused(str(found["error"]), str(found.get("kind")))
        rows = found.get("rows")
        if not isinstance(rows, list) or found.get("more"):
            query = shorten(self.query, 200)
            raise StateUnreadable(f"`{query}` gives more rows than are read; ask for fewer")
        if self.rows is None and self.count is not None:
            met = len(rows) == self.count
        else:
            wanted: JsonValue = [[self.value]]
            if self.rows is not None:
                wanted = [[*row] for row in self.rows]
            met = json_equal(wanted, rows)
        many = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
        return met, f"{many}: {shown(rows)}" if rows else "no rows"

    def _refused(self, error: str, kind: str) -> Exception:
        """Return what to raise: something is not there, the query is wrong, or what the candidate
        left.
        """
        from gateval.candidates.playground_state import StateUnavailable

        said = shorten(error, 200)
        if error.startswith(_NOT_THERE):
            return NoText(said)
        to_blame = kind in {"ProgrammingError", "Warning"} or error.startswith(_OF_THE_QUERY)
        if error.startswith(_FUNCTION):
            to_blame = error.removeprefix(_FUNCTION).lower() in self.query.lower()
        if to_blame:
            return StateUnavailable(Cause.CHECK, f"SQLite refused the query: {said}")
        return StateUnreadable(f"{named(self.path)}: {said}")
