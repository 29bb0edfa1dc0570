"""The file of runs: bounded, readable as JSON, and nothing in it is believed to be whole."""

from __future__ import annotations

import json

import pytest

from gateval.domain.history.run_record import (
    BYTES_KEPT,
    OF_PULL_REQUESTS,
    RUNS_KEPT,
    add_run,
    newest_first,
    read_line,
    record_line,
)
from tests.helpers.runs import run_eval, run_fixture, run_record

NAMES = [f"refund-request-number-{number:03}" for number in range(200)]


def large(number: int, **more: object) -> bytes:
    fixtures = [run_fixture(name, "ppf", severity="high", says="too late") for name in NAMES]
    return record_line(run_record(number, run_eval(*fixtures), **more))


def test_a_thousand_runs_of_200_fixtures_take_less_than_20_megabytes() -> None:
    steady = [run_fixture(name) for name in NAMES]
    record = run_record(1, run_eval(*steady))
    assert 1_000 * len(record_line(record)) < 20_000_000
    failing = steady[:-10] + [run_fixture(n, "pff", says="x" * 160) for n in NAMES[-10:]]
    assert 1_000 * len(record_line(run_record(1, run_eval(*failing)))) < 20_000_000


def test_the_newest_run_comes_last_and_the_file_is_json_line_by_line() -> None:
    content = add_run(add_run(b"", run_record(1)), run_record(2))
    lines = [json.loads(line) for line in content.splitlines()]
    assert [line["id"] for line in lines] == ["1-1", "2-1"]
    assert [one.id for one in newest_first(content)] == ["2-1", "1-1"]
    assert next(newest_first(content)) == run_record(2)


def test_a_run_is_kept_once() -> None:
    content = add_run(b"", run_record(1))
    assert add_run(content, run_record(1)) == content


def test_a_line_that_somebody_wrote_beforehand_does_not_keep_a_run_out() -> None:
    forged = add_run(b"", run_record(1, run_eval(run_fixture("one", "fff"))))
    assert list(newest_first(add_run(forged, run_record(1)))) == [run_record(1)]


def test_the_oldest_go_and_those_of_pull_requests_first() -> None:
    lines = [record_line(run_record(n)) for n in range(RUNS_KEPT)]
    content = add_run(b"".join(lines), run_record(9_999))
    kept = [one.id for one in newest_first(content)]
    assert len(kept) == RUNS_KEPT
    assert (kept[0], kept[-1]) == ("9999-1", "1-1")

    pulls = [record_line(run_record(n, event="pull_request")) for n in range(RUNS_KEPT)]
    content = add_run(lines[0] + b"".join(pulls[1:]), run_record(9_999))
    kept = [one.id for one in newest_first(content)]
    assert len(kept) == OF_PULL_REQUESTS + 2
    assert kept[-1] == "0-1"


def test_the_file_never_outgrows_its_bytes() -> None:
    line = large(1)
    ids = [f'"id":"{n}-1"'.encode() for n in range(BYTES_KEPT // len(line) + 10)]
    lines = [line.replace(b'"id":"1-1"', one) for one in ids]
    assert len(set(lines)) == len(ids)
    content = add_run(b"".join(lines), run_record(9_999))
    assert len(content) <= BYTES_KEPT
    assert next(newest_first(content)).id == "9999-1"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nonsense",
        b'{"id":"1-1"}',
        record_line(run_record(1)).replace(b"run.v1", b"run.v9"),
        record_line(run_record(1)).replace(b'"push"', b'"push; rm -rf"'),
        record_line(run_record(1)).replace(b'"ppp"', b'"pp\\u001b"'),
        record_line(run_record(1)).replace(b"{", b'{"more":1,', 1),
        b"[" * 100_000,
    ],
)
def test_what_is_no_record_is_passed_over(line: bytes) -> None:
    assert read_line(line) is None
    content = line + b"\n" + record_line(run_record(2))
    assert [one.id for one in newest_first(content)] == ["2-1"]


def test_only_lines_that_name_an_eval_are_read() -> None:
    other = run_record(2, run_eval(name="other-eval"))
    content = record_line(run_record(1)) + record_line(other)
    assert [one.id for one in newest_first(content, ["support-eval"])] == ["1-1"]
