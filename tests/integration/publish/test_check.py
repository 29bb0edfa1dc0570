"""The check run: one that counts, always completed, with annotations, never an older run's."""

from __future__ import annotations

import pytest

from gateval.domain.forge.check_run import Conclusion
from gateval.domain.text import markdown
from gateval.publish.check import Sink, WriteStatus
from gateval.publish.github import abandon, complete_left_open, open_check, publish
from tests.integration.publish.conftest import Shop, said
from tests.servers.github.state.checks import CheckRun
from tests.servers.github.state.people import App


def states(shop: Shop) -> list[tuple[str, str | None]]:
    """All check runs of the gate, oldest first: status and conclusion."""
    runs = sorted(shop.repo.checks("gateval"), key=lambda run: run.id)
    return [(run.status, run.conclusion) for run in runs]


def put(
    shop: Shop, external_id: str, *, status: str, app: App | None = None, managed: bool = False
) -> CheckRun:
    world = shop.server.world
    done = status == "completed"
    run = shop.repo.add_check(
        "gateval",
        shop.pull.head_sha,
        app=app or world.apps["github-actions"],
        status=status,
        conclusion="success" if done else None,
    )
    run.external_id, run.managed = external_id, managed
    return run


def test_in_progress_first_then_completed(shop: Shop) -> None:
    target = shop.target()
    opened = open_check(shop.forge(), target)
    assert (opened.status, states(shop)) == (WriteStatus.WRITTEN, [("in_progress", None)])

    done = publish(shop.forge(), target, said("x"))

    (run,) = shop.repo.checks("gateval")
    assert states(shop) == [("completed", "failure")]
    assert (run.title, run.summary, run.head_sha) == ("Title: x", "### x\n", target.head)
    comment = shop.pull.comments[0].id
    assert run.external_id == f"gateval/gateval/2026-11-20T09:00:00Z/7.1/c{comment}"
    assert done.url(Sink.CHECK_RUN) == opened.url != ""


def test_without_a_beginning_it_is_made_at_once(shop: Shop) -> None:
    publish(shop.forge(), shop.target(), said("x", Conclusion.SUCCESS))

    assert states(shop) == [("completed", "success")]
    assert shop.server.log.count("*", "*/check-runs*") == 2


@pytest.mark.parametrize(("count", "requests"), [(0, 1), (50, 1), (51, 2), (120, 3), (200, 4)])
def test_annotations_go_in_batches_and_the_conclusion_with_the_last(
    shop: Shop, count: int, requests: int
) -> None:
    target = shop.target()
    open_check(shop.forge(), target)
    publish(shop.forge(), target, said("x", annotations=count))

    (run,) = shop.repo.checks("gateval")
    assert [one["title"] for one in run.annotations] == [f"note {n}" for n in range(count)]
    updates = shop.server.log.of("PATCH", "*/check-runs/*")
    assert len(updates) == requests
    assert ["conclusion" in update.body for update in updates] == [False] * (requests - 1) + [True]


@pytest.mark.parametrize("nth", [1, 2])
def test_when_annotations_are_refused_it_is_completed_without_them(shop: Shop, nth: int) -> None:
    target = shop.target()
    open_check(shop.forge(), target)
    shop.server.faults.status("PATCH", "*/check-runs/*", 422, nth=nth)

    done = publish(shop.forge(), target, said("x", annotations=70))

    assert states(shop)[0] == ("completed", "failure")
    assert [(one.sink, one.status) for one in done.notes[:2]] == [
        (Sink.CHECK_RUN, WriteStatus.WRITTEN),
        (Sink.ANNOTATIONS, WriteStatus.FAILED),
    ]
    (warning,) = done.warnings
    assert warning == (
        "The annotations could not be written. "
        "GitHub did not change our check run (422: Server says 422)."
    )
    assert shop.waits == []


def test_a_second_run_on_the_commit_makes_a_new_one_that_counts(shop: Shop) -> None:
    """GitHub does not reopen a completed one."""
    publish(shop.forge(), shop.target(1), said("one", annotations=3))
    second = shop.target(2, minute=1)
    open_check(shop.forge(), second)
    assert states(shop) == [("completed", "failure"), ("in_progress", None)]
    publish(shop.forge(), second, said("two", Conclusion.SUCCESS))

    assert states(shop) == [("completed", "failure"), ("completed", "success")]
    newest = max(shop.repo.checks("gateval"), key=lambda run: run.id)
    assert (newest.title, newest.annotations) == ("Title: two", [])


def test_one_that_a_crashed_run_left_open_is_taken_over(shop: Shop) -> None:
    open_check(shop.forge(), shop.target(1))
    second = shop.target(2, minute=1)
    open_check(shop.forge(), second)
    publish(shop.forge(), second, said("two"))

    assert states(shop) == [("completed", "failure")]


def test_the_run_it_was_taken_from_leaves_it_alone(shop: Shop) -> None:
    first, second = shop.target(1), shop.target(2, minute=1)
    open_check(shop.forge(), first)
    open_check(shop.forge(), second)

    done = publish(shop.forge(), first, said("old", Conclusion.SUCCESS))
    assert (done.notes[0].status, states(shop)) == (WriteStatus.LEFT, [("in_progress", None)])
    assert open_check(shop.forge(), first).status is WriteStatus.LEFT

    publish(shop.forge(), second, said("new"))
    assert states(shop) == [("completed", "failure")]


def test_two_that_were_made_at_once_are_both_completed(shop: Shop) -> None:
    first, second = shop.target(1), shop.target(2, minute=1)
    put(shop, str(first.stamp), status="in_progress")
    put(shop, str(second.stamp), status="in_progress")

    publish(shop.forge(), second, said("two"))
    publish(shop.forge(), first, said("one"))

    assert states(shop) == [("completed", "failure"), ("completed", "failure")]


def test_one_of_another_app_with_our_external_id_is_not_ours(shop: Shop) -> None:
    other = shop.server.world.app("other-bot")
    forged = put(shop, "gateval/gateval/2026-11-20T08:00:00Z/1.1", status="in_progress", app=other)

    publish(shop.forge(), shop.target(), said("x"))

    assert (forged.status, forged.title) == ("in_progress", None)
    mine = [run for run in shop.repo.checks("gateval") if run.app.slug == "github-actions"]
    assert [(run.status, run.conclusion) for run in mine] == [("completed", "failure")]


def test_one_of_another_app_from_the_future_does_not_silence_the_gate(shop: Shop) -> None:
    other = shop.server.world.app("other-bot")
    put(shop, "gateval/gateval/2026-11-20T23:59:00Z/99.1", status="completed", app=other)
    target = shop.target()

    assert open_check(shop.forge(), target).status is WriteStatus.WRITTEN
    publish(shop.forge(), target, said("x"))

    assert states(shop) == [("completed", "success"), ("completed", "failure")]


def test_a_job_of_the_same_name_is_left_alone(shop: Shop) -> None:
    job = put(shop, "8d2f2a1c-0000-5000-8000-000000000000", status="in_progress", managed=True)

    publish(shop.forge(), shop.target(), said("x"))

    assert job.status == "in_progress"
    assert len(shop.repo.checks("gateval")) == 2


def test_a_gate_with_a_name_has_a_check_of_its_own(shop: Shop) -> None:
    publish(shop.forge(), shop.target(gate="prices"), said("x"))

    assert [run.conclusion for run in shop.repo.checks("gateval (prices)")] == ["failure"]


@pytest.mark.parametrize(("cancelled", "conclusion"), [(False, "failure"), (True, "cancelled")])
def test_a_run_without_a_verdict_completes_its_check(
    shop: Shop, *, cancelled: bool, conclusion: str
) -> None:
    target = shop.target()
    open_check(shop.forge(), target)

    why = markdown("The disk is full.")
    (note,) = abandon(shop.forge(), target, cancelled=cancelled, why=why).notes

    assert (note.status, states(shop)) == (WriteStatus.WRITTEN, [("completed", conclusion)])
    (run,) = shop.repo.checks("gateval")
    assert (run.summary or "").startswith("The disk is full.\n\nNothing was decided")


def test_the_post_step_completes_what_a_killed_gate_left(shop: Shop) -> None:
    target = shop.target()
    open_check(shop.forge(), target)
    later = target.model_copy(
        update={"stamp": target.stamp.model_copy(update={"started": "2026-11-20T09:44:00Z"})}
    )

    assert complete_left_open(shop.forge(), later).notes[0].status is WriteStatus.WRITTEN
    assert states(shop) == [("completed", "failure")]


def test_the_post_step_touches_neither_a_verdict_nor_another_run(shop: Shop) -> None:
    publish(shop.forge(), shop.target(1), said("x", Conclusion.SUCCESS))
    open_check(shop.forge(), shop.target(2, minute=1))

    for run in (0, 1):
        (note,) = complete_left_open(shop.forge(), shop.target(run, minute=run)).notes
        assert note.status is WriteStatus.LEFT
    assert states(shop) == [("completed", "success"), ("in_progress", None)]


def test_a_gate_that_was_killed_before_it_said_anything_is_reported(shop: Shop) -> None:
    """A required check that nobody reports is waited for without end."""
    assert complete_left_open(shop.forge(), shop.target()).notes[0].status is WriteStatus.WRITTEN
    assert states(shop) == [("completed", "failure")]


def test_a_check_run_whose_answer_was_lost_is_completed_all_the_same(shop: Shop) -> None:
    target = shop.target()
    shop.server.faults.plant("POST", "*/check-runs", done=True, drop=True)
    open_check(shop.forge(), target)
    assert states(shop) == [("in_progress", None)] * 2

    publish(shop.forge(), target, said("x"))

    assert states(shop) == [("completed", "failure")] * 2


def test_a_push_without_a_pull_request_has_a_check_only(shop: Shop) -> None:
    target = shop.target().model_copy(update={"pull_request": None})
    done = publish(shop.forge(), target, said("x"))

    assert [one.sink for one in done.notes] == [Sink.CHECK_RUN]
    assert states(shop) == [("completed", "failure")]
