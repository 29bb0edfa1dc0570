"""A finished run is read by its store: the same words, without its results file being parsed."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pytest

from gateval.app.run.finished import COMPARED_FILE
from tests.helpers.command import gateval
from tests.helpers.github_shop import WORSE
from tests.helpers.repo import Repo
from tests.helpers.shop import build_shop

COMMANDS = (
    ("show",),
    ("show", "greets"),
    ("show", "support-eval/refund-asks-why"),
    ("show", "refund-asks-why", "--repetition", "1", "--full"),
    ("show", "refund-asks-why", "--repetition", "99"),
    ("show", "refund-asks-wy"),
    ("report",),
    ("report", "--format", "results"),
    ("report", "--format", "html"),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repo, Path]:
    """A check that failed, and its folder."""
    place = tmp_path_factory.mktemp("run")
    shop = build_shop(place / "shop")
    shop.write("agents/prompts/support.md", WORSE)
    shop.commit()
    assert gateval(shop, "check", "--results", str(place / "out")).returncode == 1
    return shop, place / "out"


def said(run: tuple[Repo, Path]) -> list[tuple[int, str, str]]:
    """What every command says of the run."""
    shop, out = run
    done = [gateval(shop, word, str(out), *more) for word, *more in COMMANDS]
    return [(one.returncode, one.stdout, one.stderr) for one in done]


def test_the_store_says_what_the_results_say(run: tuple[Repo, Path]) -> None:
    _, out = run
    results, note = out / "results.v1.json", out / "trials" / COMPARED_FILE
    content, noted, time = results.read_bytes(), note.read_bytes(), results.stat()
    by_store = said(run)
    note.unlink()
    assert said(run) == by_store, "without it, the results are read"
    note.write_bytes(noted)
    at = content.index(b'"trials":[') + 20
    results.write_bytes(content[:at] + b"#" * 40 + content[at + 40 :])
    os.utime(results, ns=(time.st_atime_ns, time.st_mtime_ns))
    assert said(run) == by_store, "no trial of the results is read"
    lines = gzip.decompress(noted).splitlines(keepends=True)
    note.write_bytes(gzip.compress(b"".join(one for one in lines if b'"lists":' not in one[:9])))
    assert said(run) == by_store, "where no fixture has a place, the plan is read whole"
    note.write_bytes(gzip.compress(b"".join(lines[:-1])))
    assert said(run)[6:] == by_store[6:], "nor where one fixture has none"
    note.write_bytes(noted)
    results.write_bytes(content)
    assert said(run) == by_store, "a copy is told by its digest"


def test_results_that_were_changed_are_read_themselves(run: tuple[Repo, Path]) -> None:
    shop, out = run
    results = out / "results.v1.json"
    content = results.read_bytes()
    results.write_bytes(content.replace(b"Hello", b"Adieu"))
    try:
        shown = gateval(shop, "show", str(out), "greets")
        assert (shown.returncode, "Adieu" in shown.stdout) == (0, True), shown.stderr
    finally:
        results.write_bytes(content)


@pytest.mark.parametrize(
    ("at", "before", "after"),
    [
        (0, rb'"before":\d+', b'"before":99999999999999'),
        (0, rb'"after":\d+', b'"after":99999999999999'),
        (1, rb"\[(\d+),(\d+)\]", rb"[\2,\1]"),
        (1, rb",(\d+)\]", b",4611686018427387904]"),
        (2, rb'"size":\d+', b'"size":99999999999999'),
    ],
)
def test_a_place_outside_the_results_leads_nowhere(
    run: tuple[Repo, Path], at: int, before: bytes, after: bytes
) -> None:
    shop, out = run
    note = out / "trials" / COMPARED_FILE
    noted = note.read_bytes()
    lines = gzip.decompress(noted).splitlines(keepends=True)
    name = json.loads(lines[2])["compared"]["fixture"]
    words = (("report", str(out)), ("show", str(out), name))
    told = [gateval(shop, *one).stdout for one in words]
    forged = [*lines[:at], re.sub(before, after, lines[at], count=1), *lines[at + 1 :]]
    assert forged != lines
    note.write_bytes(gzip.compress(b"".join(forged)))
    assert [gateval(shop, *one).stdout for one in words] == told
    note.write_bytes(noted)


def test_a_segment_that_was_changed_is_said(run: tuple[Repo, Path]) -> None:
    shop, out = run
    segment = out / "trials/00001.jsonl.gz"
    content = segment.read_bytes()
    segment.write_bytes(content[:90] + bytes([content[90] ^ 1]) + content[91:])
    try:
        for words in (("show", str(out), "greets"), ("report", str(out))):
            done = gateval(shop, *words)
            assert done.returncode == 2
            assert "00001.jsonl.gz is not as it was written" in " ".join(done.stderr.split())
            assert "Traceback" not in done.stderr
    finally:
        segment.write_bytes(content)


def test_of_one_fixture_nothing_of_another_is_read_in_the_plan(run: tuple[Repo, Path]) -> None:
    shop, out = run
    results = out / "results.v1.json"
    content, noted = results.read_bytes(), (out / "trials" / COMPARED_FILE).read_bytes()
    time = json.loads(gzip.decompress(noted).splitlines()[0])["modified"]
    before = gateval(shop, "show", str(out), "greets")
    other = b'"name":"refund-asks-why"'
    assert content.index(other) < content.index(b'"trials":[')
    try:
        results.write_bytes(content.replace(other, b"#" * len(other), 1))
        os.utime(results, ns=(time, time))
        done = gateval(shop, "show", str(out), "greets")
        assert (done.returncode, done.stdout) == (0, before.stdout), done.stderr
        assert gateval(shop, "show", str(out), "refund-asks-why").returncode == 2
    finally:
        results.write_bytes(content)
        os.utime(results, ns=(time, time))


def test_what_an_earlier_version_noted_is_read(run: tuple[Repo, Path]) -> None:
    """It did not say where fixtures stand in the plan."""
    shop, out = run
    note = out / "trials" / COMPARED_FILE
    noted = note.read_bytes()
    first, lists, *lines = gzip.decompress(noted).splitlines()
    assert lists.startswith(b'{"lists":{"support-eval":[')
    old = [json.loads(one) for one in lines]
    kept = [json.dumps({name: one[name] for name in ("eval", "compared")}).encode() for one in old]
    words = [("show", str(out), "greets"), ("show", str(out), "refund-asks-why")]
    before = [gateval(shop, *one).stdout for one in words]
    try:
        note.write_bytes(gzip.compress(b"\n".join([first, *kept])))
        assert [gateval(shop, *one).stdout for one in words] == before
    finally:
        note.write_bytes(noted)
