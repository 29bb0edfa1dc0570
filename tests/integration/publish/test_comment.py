"""The comment: found by marker and author, one of it, never an older run's."""

from __future__ import annotations

import threading

import pytest

from gateval.domain.forge.check_run import CommentMode, Conclusion, MarkedComment, mark, read_mark
from gateval.domain.text import markdown
from gateval.publish.check import Sink, WriteStatus
from gateval.publish.github import publish
from gateval.safe.sanitize import inline
from tests.integration.publish.conftest import Shop, said


def body(
    shop: Shop, text: str, run: int = 7, *, minute: int = 0, head: str = "", gate: str = "gateval"
) -> str:
    target = shop.target(run, minute=minute, head=head, gate=gate)
    return mark(
        markdown("### {}\n", inline(text, 100_000)),
        MarkedComment(stamp=target.stamp, head=target.head),
    )


def note(shop: Shop, run: int = 7, text: str = "new", **options: object) -> tuple[WriteStatus, str]:
    """Publish and return what became of the comment."""
    target = shop.target(run, **options)  # type: ignore[arg-type]
    done = publish(shop.forge(), target, said(text)).notes[-1]
    assert done.sink is Sink.COMMENT
    return done.status, done.why


def test_the_first_run_makes_it_and_the_next_ones_keep_it_up_to_date(shop: Shop) -> None:
    for run in (1, 2, 3):
        done = publish(shop.forge(), shop.target(run, minute=run), said(f"run {run}"))

    assert [one.status for one in done.notes] == [WriteStatus.WRITTEN, WriteStatus.WRITTEN]
    assert done.url(Sink.COMMENT).endswith(f"#issuecomment-{shop.pull.comments[0].id}")
    (only,) = shop.ours
    assert only.endswith("### run 3\n")
    found = read_mark(only)
    assert found is not None
    assert (found.stamp.run, found.head) == (3, shop.pull.head_sha)


def test_it_is_found_among_three_hundred(shop: Shop) -> None:
    for number in range(250):
        shop.pull.comment(f"me, too ({number})", by=shop.eve)
    shop.copy_of(body(shop, "old", run=1))
    for number in range(50):
        shop.pull.comment(f"and me ({number})", by=shop.eve)

    assert note(shop, 2, minute=1) == (WriteStatus.WRITTEN, "")
    assert [one.split("\n")[1] for one in shop.ours] == ["### new"]
    assert shop.server.log.count("GET", "*/comments") == 4


def test_a_copy_of_the_marker_by_somebody_else_is_no_comment_of_ours(shop: Shop) -> None:
    other_app = shop.server.world.app("other-bot")
    forged = body(shop, "PASSED", run=99, minute=59)
    shop.copy_of(forged, by=shop.eve)
    shop.pull.comment(forged, by=other_app.bot, app=other_app)

    assert note(shop) == (WriteStatus.WRITTEN, "")
    assert [one.body for one in shop.pull.comments[:2]] == [forged, forged]
    assert len(shop.ours) == 1


def test_a_marker_that_is_not_in_the_first_line_does_not_count(shop: Shop) -> None:
    shop.copy_of("Somebody else's workflow quotes us:\n" + body(shop, "old", run=99, minute=59))

    assert note(shop) == (WriteStatus.WRITTEN, "")
    assert len(shop.ours) == 2


def test_duplicates_of_ours_are_deleted(shop: Shop) -> None:
    for run in (1, 2, 3):
        shop.copy_of(body(shop, f"run {run}", run))

    assert note(shop, 4, minute=1) == (WriteStatus.WRITTEN, "")
    assert [one.split("\n")[1] for one in shop.ours] == ["### new"]


def test_an_older_run_leaves_the_text_of_a_newer_one(shop: Shop) -> None:
    newer = body(shop, "newer", 8, minute=5)
    shop.copy_of(newer)

    status, why = note(shop, 7)

    assert (status, why.split(" has ")[0]) == (WriteStatus.LEFT, "A newer run of this gate")
    assert shop.ours == [newer]


def test_a_second_attempt_of_an_older_run_is_newer(shop: Shop) -> None:
    shop.copy_of(body(shop, "run 8", 8, minute=5))

    assert note(shop, 7, minute=9, attempt=2) == (WriteStatus.WRITTEN, "")


def test_what_is_said_about_another_head_gives_way_whatever_its_stamp(shop: Shop) -> None:
    shop.copy_of(body(shop, "from the future", 99, minute=59, head="a" * 40))

    assert note(shop, 7) == (WriteStatus.WRITTEN, "")
    assert len(shop.ours) == 1


def test_several_gates_have_one_each(shop: Shop) -> None:
    note(shop, 1, "first gate")
    note(shop, 1, "second gate", gate="prices")
    note(shop, 2, "second gate again", gate="prices", minute=1)

    assert [one.split("\n")[1] for one in shop.ours] == ["### first gate", "### second gate again"]


def test_when_head_moves_on_the_comment_is_left_to_the_run_on_it(shop: Shop) -> None:
    target = shop.target()
    moved = shop.pull.push(shop.repo.commit("More", on="better"), by=shop.ada)

    done = publish(shop.forge(), target, said("stale"))

    assert shop.ours == []
    assert (
        done.notes[-1].why
        == f"Head has moved on to {moved[:7]}; the comment is left to the run on it."
    )
    (check,) = shop.repo.checks("gateval")
    assert (check.head_sha, check.conclusion) == (target.head, "failure")
    assert f"Head has moved on to <code>{moved[:12]}</code> since" in (check.summary or "")


@pytest.mark.parametrize(
    ("mode", "conclusion", "comments"),
    [
        (CommentMode.ALWAYS, Conclusion.SUCCESS, 1),
        (CommentMode.ALWAYS, Conclusion.FAILURE, 1),
        (CommentMode.ON_FAILURE, Conclusion.SUCCESS, 0),
        (CommentMode.ON_FAILURE, Conclusion.NEUTRAL, 1),
        (CommentMode.ON_FAILURE, Conclusion.FAILURE, 1),
        (CommentMode.ON_FAILURE, Conclusion.ACTION_REQUIRED, 1),
        (CommentMode.OFF, Conclusion.FAILURE, 0),
    ],
)
def test_modes(shop: Shop, mode: CommentMode, conclusion: Conclusion, comments: int) -> None:
    done = publish(shop.forge(), shop.target(comment=mode), said("x", conclusion))

    assert len(shop.ours) == comments
    assert done.notes[-1].status is (WriteStatus.WRITTEN if comments else WriteStatus.LEFT)
    assert done.warnings == ()


def test_on_failure_keeps_an_earlier_comment_up_to_date(shop: Shop) -> None:
    shop.copy_of(body(shop, "failed", 1))
    target = shop.target(2, minute=1, comment=CommentMode.ON_FAILURE)

    publish(shop.forge(), target, said("fixed", Conclusion.SUCCESS))

    assert [one.split("\n")[1] for one in shop.ours] == ["### fixed"]


def test_nobody_is_told_that_nothing_was_to_be_evaluated(shop: Shop) -> None:
    nothing = said("nothing", Conclusion.SUCCESS, unasked=True)
    publish(shop.forge(), shop.target(), nothing)
    assert shop.ours == []

    shop.copy_of(body(shop, "failed", 1))
    publish(shop.forge(), shop.target(2, minute=1), nothing)
    assert [one.split("\n")[1] for one in shop.ours] == ["### nothing"]


@pytest.mark.parametrize(("theirs", "kept"), [(1, "mine"), (9, "theirs")])
def test_two_runs_that_both_found_none_leave_one(shop: Shop, theirs: int, kept: str) -> None:
    """The other run makes its comment after we looked and before we write."""
    other = body(shop, "theirs", theirs, minute=theirs)
    shop.server.faults.plant("POST", "*/comments", then=lambda: shop.copy_of(other))

    status, _ = note(shop, 7, "mine", minute=7)

    assert [one.split("\n")[1] for one in shop.ours] == [f"### {kept}"] or kept == "theirs"
    assert status is (WriteStatus.WRITTEN if kept == "mine" else WriteStatus.LEFT)
    assert [one.split("\n")[1] for one in shop.ours] == [f"### {kept}"]


@pytest.mark.parametrize("start", [0, 1])
def test_runs_that_race_for_real_end_in_one_comment(shop: Shop, start: int) -> None:
    if start:
        shop.copy_of(body(shop, "before", 0))
    barrier = threading.Barrier(4)

    def run(number: int) -> None:
        forge = shop.forge()
        target = shop.target(number, minute=number, day="2026-01-05")  # as the server's clock
        barrier.wait()
        publish(forge, target, said(f"run {number}"))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(shop.ours) == 1  # whose, nobody can promise: GitHub has no conditional write


def test_a_comment_that_a_newer_run_deletes_meanwhile_is_left(shop: Shop) -> None:
    shop.copy_of(body(shop, "before", 1))
    shop.server.faults.plant("PATCH", "*/comments/*", then=shop.pull.comments.clear)

    status, why = note(shop, 7)

    assert (status, why) == (
        WriteStatus.LEFT,
        "The comment was deleted while it was written, as a newer run does.",
    )


def test_a_comment_whose_answer_was_lost_is_there_once(shop: Shop) -> None:
    shop.server.faults.plant("POST", "*/comments", done=True, drop=True)

    assert note(shop) == (WriteStatus.WRITTEN, "")
    assert len(shop.ours) == 1
    assert shop.waits == [1.0]
