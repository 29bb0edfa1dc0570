"""An event reaches every sink it can; git comes first, and what failed is known."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from gateval.adapters.git.records import GitRecords
from gateval.adapters.git.repository import open_repository
from gateval.domain.audit import AuditEntry, AuditEvent, AuditRun, read_log
from gateval.domain.decision.decision import make_report
from gateval.domain.history.verdicts import record_of
from gateval.errors import RecordsError
from gateval.pipeline.resolved_event import verdict_in
from gateval.ports.storage import AUDIT_LOG, HISTORY
from gateval.publish.audit import AuditSink, append_entry, record_event, store_verdict
from tests.helpers.audit_events import event
from tests.helpers.remotes import cloned, refuse_with
from tests.helpers.repo import Repo
from tests.helpers.reports import make_results
from tests.helpers.tiers import some_always


class Heard:
    """A sink that keeps what it was given."""

    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    def write(self, said: AuditEvent) -> None:
        self.events.append(said)


def full(_: AuditEvent) -> None:
    raise OSError(28, "No space left on device")


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Repo, Repo]:
    return cloned(tmp_path)


def records(repo: Repo) -> GitRecords:
    return open_repository(repo.path, repo.env).records(repo.env)


def test_every_sink_gets_the_entry_that_git_made(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    heard = Heard()
    with records(repo) as found:
        receipt = record_event(event(), found, [AuditSink("log", heard.write)])
    assert [delivery.sink for delivery in receipt.deliveries] == ["git", "log"]
    assert receipt.failed() == ()
    assert heard.events == [receipt.entry]
    log = read_log(origin.git("show", "gateval-audit:audit.jsonl"))
    assert log.entries == (receipt.entry,)
    message = origin.git("log", "-1", "--format=%B", "gateval-audit").decode().strip()
    assert message == "Entry 1: bypass granted, pull request 12, head a1b2c3d4e5f6"


@pytest.mark.parametrize("runs", some_always([8, 20], 2))
def test_runs_at_once_make_as_many_entries_in_one_chain(
    clone: tuple[Repo, Repo], runs: int
) -> None:
    repo, origin = clone
    start = Barrier(runs)

    def run(number: int) -> AuditEntry:
        with records(repo) as found:
            start.wait(timeout=60)
            return append_entry(found, event(f"Reason {number}"))

    with ThreadPoolExecutor(runs) as pool:
        entries = list(pool.map(run, range(runs)))
    log = read_log(origin.git("show", "gateval-audit:audit.jsonl"))
    assert log.broken is None
    assert [entry.number for entry in log.entries] == list(range(1, runs + 1))
    assert set(log.entries) == set(entries), "each run knows its entry as it stands there"
    assert sorted(entry.reason for entry in entries) == sorted(f"Reason {n}" for n in range(runs))
    assert origin.git("rev-list", "--count", "gateval-audit").strip() == b"%d" % runs


def test_a_refusing_remote_leaves_the_other_sinks_the_bare_event(
    clone: tuple[Repo, Repo],
) -> None:
    repo, origin = clone
    refuse_with(origin, "Nobody may push.")
    heard = Heard()
    with records(repo) as found:
        receipt = record_event(event(), found, [AuditSink("log", heard.write)])
    assert receipt.entry is None
    (failed,) = receipt.failed()
    assert failed.sink == "git"
    assert "a hook of the remote refused it (Nobody may push)" in failed.problem
    assert heard.events == [event()]
    assert not isinstance(heard.events[0], AuditEntry)


def test_a_failing_sink_keeps_none_of_the_rest_from_it(clone: tuple[Repo, Repo]) -> None:
    heard = Heard()
    sinks = [AuditSink("summary", full), AuditSink("log", heard.write)]
    with records(clone[0]) as found:
        receipt = record_event(event(), found, sinks)
    assert receipt.failed() == ()
    (failed,) = receipt.failed(["git", "summary", "log"])
    assert failed.problem == "The audit sink summary cannot be written: No space left on device."
    assert heard.events == [receipt.entry]


def test_a_required_sink_that_was_never_tried_has_failed() -> None:
    receipt = record_event(event(), None, [])
    assert [f.problem for f in receipt.failed()] == [
        "There is no remote repository to keep the audit log in."
    ]
    assert [f.sink for f in receipt.failed(["webhook"])] == ["webhook"]


def test_an_answer_that_got_lost_makes_no_second_entry(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    with records(repo) as found:
        first = append_entry(found, event())
        append_entry(found, event("Another"))
        again = append_entry(found, event())
    assert again == first
    assert len(read_log(origin.git("show", "gateval-audit:audit.jsonl")).entries) == 2


def test_nothing_is_added_to_a_log_that_somebody_changed(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    with records(repo) as found:
        append_entry(found, event())
    repo.git("fetch", "--quiet", "origin", "gateval-audit")
    repo.git("checkout", "--quiet", "--detach", "FETCH_HEAD")
    log = (repo.path / "audit.jsonl").read_text()
    repo.write("audit.jsonl", log.replace("alice", "mallory"))
    repo.commit()
    repo.git("push", "--quiet", "origin", "HEAD:gateval-audit")
    tip = origin.id("gateval-audit")
    with records(repo) as found:
        receipt = record_event(event("Next"), found)
    (failed,) = receipt.failed()
    assert failed.problem == (
        "The audit log is broken at entry 1: the entry was changed: "
        "its content does not give its hash."
    )
    assert origin.id("gateval-audit") == tip


def test_a_verdict_is_found_again(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    results = make_results("support-eval one base:pass head:fail")
    head = results.plan.head.model_copy(update={"commit": "a" * 40})
    results = results.model_copy(update={"plan": results.plan.model_copy(update={"head": head})})
    made = record_of(make_report(results), run=AuditRun(), recorded_at="2026-11-21T13:05:00Z")
    assert made is not None
    with records(repo) as found:
        assert verdict_in(found.read(HISTORY), made.head) is None
        store_verdict(found, made)
        store_verdict(found, made.model_copy(update={"head": "b" * 40}))
        store_verdict(found, made)
        assert verdict_in(found.read(HISTORY), made.head) == made
        assert verdict_in(found.read(HISTORY), "c" * 40) is None
    assert int(origin.git("rev-list", "--count", HISTORY.ref)) == 1


def test_a_log_beyond_its_limit_is_refused_not_cut(clone: tuple[Repo, Repo]) -> None:
    with records(clone[0]) as found:
        append_entry(found, event())
        with pytest.raises(RecordsError, match="larger than 10 bytes"):
            found.read(AUDIT_LOG._replace(limit=10))
