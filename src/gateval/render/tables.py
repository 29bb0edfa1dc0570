"""Rows of what stands as tables for a terminal. Only the page sanitises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from pydantic import JsonValue

from gateval.domain.strict_json import objects_of
from gateval.domain.text import DASH, Screen
from gateval.render.terminal.page import ROWS, TerminalReport

Row = Mapping[str, JsonValue]
Column = tuple[str, Callable[[Row], str]]

STYLES = {"Failed": "red", "Fail": "red", "Error": "yellow", "Stale": "yellow", "Passed": "green"}


def render_rows(kind: str, rows: Sequence[Row], screen: Screen, *, wide: bool) -> str:
    """Return all rows of a kind as one table; a sentence where there are none. Agents in files of
    other tools that no Eval targets (`file`) are a second one.
    """
    page = TerminalReport(screen)
    others = [row for row in rows if kind == "agents" and "file" in row]
    rows = [row for row in rows if row not in others] if others else rows
    if not rows:
        page.line(f"There are no {kind} here{' that an Eval targets' if others else ''}.")
    else:
        _rows(page, kind, rows, wide=wide)
    if others:
        _definitions(page, others)
    return page.text()


def _definitions(page: TerminalReport, rows: Sequence[Row]) -> None:
    """Add what an Eval may target besides: each name, what starts it, and its file."""
    page.line("In files of other tools; an Eval names one in `targetAgent`:")
    started = [row for row in rows if "why" not in row]
    columns = (_NAME, ("STARTED BY", _key("startedBy")), ("FILE", _key("file")))
    if started:
        titles = [title for title, _ in columns]
        page.table(titles, [([cell(row) for _, cell in columns], "") for row in started])
    alike: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        if why := _text(row.get("why", "")):
            name = f"{_text(row['name'])} ({_text(row['place'])})"
            alike.setdefault(why[-_END:], []).append((name, why))
    for told in alike.values():
        end = _shared_end([why for _, why in told])
        for name, why in told:
            page.line(f"{name}: {why.removesuffix(end).strip()}", hang=2)
        if end:
            page.line(end)


_END = 30
"""Characters by which reasons that end alike are known."""


def _shared_end(texts: Sequence[str]) -> str:
    """Return the whole sentences that several texts end with, to be said once."""
    ends = zip(*(reversed(one) for one in texts), strict=False) if len(texts) > 1 else ()
    end = "".join(signs[0] for signs in takewhile(lambda signs: len({*signs}) == 1, ends))[::-1]
    _, found, sentences = end.partition(". ")
    return sentences if found else ""


def _rows(page: TerminalReport, kind: str, rows: Sequence[Row], *, wide: bool) -> None:
    columns = [*_COLUMNS[kind], *(_WIDE[kind] if wide else ())]
    # The style is for the last cell, so the state stands there, except where more is asked for.
    page.table(
        [title for title, _ in columns],
        [([cell(row) for _, cell in columns], _style(columns[-1][1](row))) for row in rows],
        spare=() if wide else _SPARE,
    )


def render_one(row: Row, screen: Screen) -> str:
    """Return one thing with all its details: what is a list of rows becomes a table."""
    page = TerminalReport(screen)
    for key, value in row.items():
        if not (isinstance(value, list) and value and isinstance(value[0], dict)):
            page.line(f"{key}: {_text(value)}", style=_style(str(value)))
    for value in row.values():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            _table(page, [one for one in value if isinstance(one, dict)])
    return page.text()


def _table(page: TerminalReport, rows: Sequence[Row]) -> None:
    keys = list(dict.fromkeys(key for row in rows for key in row if key != "message"))
    page.table(
        keys,
        [
            ([_text(row.get(key, "")) for key in keys], _style(str(row.get("result"))))
            for row in rows
        ],
        most=ROWS,
    )
    for row in rows[:ROWS]:
        if row.get("message"):
            page.line(f"{row.get('name') or row.get('eval')}: {row['message']}", indent=2)


def _style(text: str) -> str:
    return STYLES.get(text, "")


def _text(value: JsonValue) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {one}" for key, one in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _key(name: str) -> Callable[[Row], str]:
    return lambda row: _text(row.get(name, ""))


def _when(row: Row) -> str:
    return str(row.get("lastRunAt", "never")).replace("T", " ").removesuffix("Z")


def _counts(row: Row) -> str:
    if "lastResult" not in row:
        return f"{row['totalFixtures']}"
    return f"{row.get('passingFixtures', DASH)}/{row['totalFixtures']}"


def _axes(row: Row) -> str:
    found = objects_of(row, "axes")
    return ", ".join(f"{_text(one.get('name'))} {_text(one.get('score'))}" for one in found)


def _versioned(row: Row) -> str:
    version = row.get("version")
    return f"{row.get('name')}@{version}" if version else _text(row.get("name", ""))


_NAME, _PHASE, _RAN = ("NAME", _key("name")), ("PHASE", _key("phase")), ("LAST RUN", _when)
_MEASURED: Sequence[Column] = (("AGENT", _key("targetAgent")), ("SCORE", _key("lastScore")))
_REVISION: Column = ("REVISION", lambda row: str(row.get("revision", ""))[:7])
_EVALS = ("EVALS", _key("evals"))

_COLUMNS: Mapping[str, Sequence[Column]] = {
    "evals": (_NAME, *_MEASURED, ("PASSING", _counts), _RAN, _REVISION, _PHASE),
    "benchmarks": (
        ("NAME", _versioned),
        *_MEASURED,
        ("VERDICT", _key("verdict")),
        ("AXES", _axes),
        _RAN,
        _REVISION,
        ("STATUS", _key("status")),
        _PHASE,
    ),
    "experiments": (_NAME, *_MEASURED, ("SCORERS", _axes), _RAN, _REVISION, _PHASE),
    "agents": (_NAME, ("RUNTIME", _key("runtime")), _EVALS, _RAN, _PHASE),
    "fixtures": (
        _NAME,
        ("AGENT", _key("agent")),
        ("KIND", _key("kind")),
        ("SEVERITY", _key("severity")),
        _EVALS,
        ("RESULT", _key("result")),
    ),
    "calibrations": (
        _NAME,
        _PHASE,
        ("AGREEMENT", _key("agreement")),
        ("EXAMPLES", _key("examples")),
        _EVALS,
        ("MODELS", _key("judgeModels")),
    ),
}
_SPARE = (
    "REVISION", "LAST RUN", "RUNTIME", "KIND", "MODELS", "AXES", "SCORERS", "EXAMPLES", "EVALS",
    "SEVERITY",
)  # fmt: skip
"""What is left out first where the screen is narrow; JSON has it."""
_MORE: Sequence[Column] = (
    ("RESULT", _key("lastResult")),
    ("THRESHOLD", _key("passThreshold")),
    ("JUDGE", _key("judgeAgreement")),
    ("SCHEDULE", _key("schedule")),
    ("EVENT", _key("event")),
    ("RUN", _key("run")),
)
_WIDE: Mapping[str, Sequence[Column]] = {
    "evals": _MORE,
    "benchmarks": _MORE,
    "experiments": _MORE,
    "agents": (("MODELS", _key("models")), ("CLOSURE", _key("revision")), ("PLACE", _key("place"))),
    "fixtures": (("PLACE", _key("place")),),
    "calibrations": (("LAST REPLAY", _key("lastReplayAt")), ("PLACE", _key("place"))),
}
