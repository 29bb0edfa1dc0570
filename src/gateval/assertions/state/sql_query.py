"""`sqlQuery`: what a query gives of an SQLite database of the playground."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import Field, JsonValue, model_validator

from gateval.assertions.matching.json_match import json_equal
from gateval.assertions.state.base import StateAssertion, instead, named
from gateval.assertions.state.contents import shown
from gateval.domain.manifests.fixtures.playground import InnerPath
from gateval.domain.trials.trial import Assessment, Cause
from gateval.judging.neutral import shorten

if TYPE_CHECKING:
    from gateval.candidates.playground.state import EndState

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

    type: ClassVar[str] = "sqlQuery"
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

    async def look(self, state: EndState) -> Assessment:
        """See the class."""
        from gateval.candidates.playground.reading import Unreadable

        query = shorten(self.query, 200)
        expected = f"{self._asked()} of `{query}` in {named(self.path)}"
        found = await state.query(self.path, self.query)
        if not isinstance(found, dict):
            return self.absent(expected=expected, saw=instead(found))
        if "error" in found:
            return self._refused(str(found["error"]), str(found.get("kind")), expected)
        rows = found.get("rows")
        if not isinstance(rows, list) or found.get("more"):
            raise Unreadable(f"`{query}` gives more rows than are read; ask for fewer")
        many = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
        saw = f"{many}: {shown(rows)}" if rows else "no rows"
        return self.result(met=self._met(rows), expected=expected, saw=saw)

    def _refused(self, error: str, kind: str, expected: str) -> Assessment:
        from gateval.candidates.playground.reading import Unreadable
        from gateval.candidates.playground.state import NotLookedAt

        said = shorten(error, 200)
        if any(error.startswith(one) for one in _NOT_THERE):
            return self.absent(expected=expected, saw=said)
        if self._is_to_blame(error, kind):
            raise NotLookedAt(Cause.CHECK, f"SQLite refused the query: {said}")
        raise Unreadable(f"{named(self.path)}: {said}")

    def _is_to_blame(self, error: str, kind: str) -> bool:
        """Whether the query is wrong, and not what the candidate left."""
        if error.startswith(_FUNCTION):
            return error.removeprefix(_FUNCTION).lower() in self.query.lower()
        return kind in {"ProgrammingError", "Warning"} or error.startswith(_OF_THE_QUERY)

    def _met(self, rows: list[JsonValue]) -> bool:
        if self.rows is not None:
            return json_equal([[*row] for row in self.rows], rows)
        if self.count is not None:
            return len(rows) == self.count
        return json_equal([[self.value]], rows)

    def _asked(self) -> str:
        if self.rows is not None:
            return f"the rows {shown([[*row] for row in self.rows])}"
        return f"{self.count} rows" if self.count is not None else f"the value {shown(self.value)}"
