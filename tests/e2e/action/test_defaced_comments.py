"""Whoever may edit the gate's comment may not keep it so: the next run writes over it."""

from __future__ import annotations

import pytest

from gateval.domain.forge.check_run import read_mark
from gateval.domain.text import BORDER, END
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.servers.github.state.people import GITHUB_ACTIONS
from tests.servers.github.state.pull import Pull

GREEN = "### ✅ Gateval: pass\n\nAll Evals passed.\n"
MARK = "<!-- gateval:comment v1 gateval/{gate}/{started}/{run}.1 head={head} -->\n"
FAR = "2199-01-01T00:00:00Z"
WAYS = {
    "without the marker": GREEN,
    "emptied": " ",
    "the marker further below": GREEN
    + MARK.format(gate="gateval", started=FAR, run=9, head="HEAD"),
    "from the future": MARK.format(gate="gateval", started=FAR, run=9, head="HEAD") + GREEN,
    "of another gate": MARK.format(gate="other", started=FAR, run=9, head="HEAD") + GREEN,
}


def deface(pull: Pull, text: str) -> int:
    """Write over the gate's only comment; return its id."""
    (ours,) = pull.comments
    pull.edit(ours, text.replace("HEAD", pull.head_sha))
    return ours.id


def only_comment(shop: GitHubShop, pull: Pull, number: int) -> str:
    """The gate's comment, which has to be that one, about the head as it is now."""
    (ours,) = pull.comments
    marked = read_mark(ours.body)
    assert (ours.id, marked and marked.head) == (number, pull.head_sha), ours.body
    assert "All Evals passed." not in ours.body
    return ours.body


@pytest.mark.parametrize("way", WAYS)
def test_a_run_of_the_same_head_writes_over_it(shop: GitHubShop, way: str) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    number = deface(pull, WAYS[way])
    job = shop.on_pull(pull, "reopened")
    assert job.run_action().code == 1
    assert "regressed" in only_comment(shop, pull, number)


@pytest.mark.parametrize("way", WAYS)
def test_a_run_of_the_next_heads_does_too(shop: GitHubShop, way: str) -> None:
    """Its check run is another commit's; a run that was never finished hands the number on."""
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    for prompt in (WORSE + "Be kind.\n", SAME):
        before = pull.head_sha
        shop.commit(prompt)
        shop.push()
        number = deface(pull, WAYS[way])
        job = shop.on_pull(pull, "synchronize")
        job.payload = {**job.payload, "before": before}
        assert job.run_action().code == (1 if prompt != SAME else 0)
        only_comment(shop, pull, number)


def test_what_the_evals_found_is_not_taken_over_from_a_defaced_comment(shop: GitHubShop) -> None:
    """A label's run says the verdict anew above what our check run has, which nobody else changes."""
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    (ours,) = pull.comments
    said, _, _ = ours.body.partition(BORDER)
    pull.edit(ours, f"{said}{BORDER}\n\n{GREEN}")
    assert shop.label(pull).run_action().outputs["results"] == "", "nothing ran"
    assert "All Evals passed." not in ours.body
    assert "bypassed" in ours.body.lower()
    assert "Saw the calls refund" in ours.body


def test_what_the_evals_found_stays_where_nobody_changed_it(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    (ours,) = pull.comments
    found, _, _ = ours.body.partition(BORDER)[2].partition(END)
    assert shop.label(pull).run_action().code == 0
    assert ours.body.partition(BORDER)[2].partition(END)[0] == found
    assert shop.unlabel(pull).run_action().code == 1
    assert ours.body.partition(BORDER)[2].partition(END)[0] == found


def test_comments_of_others_are_left_alone(shop: GitHubShop) -> None:
    """Another workflow writes as the same bot; another App copies the id of our check run."""
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    report = pull.comment("Coverage: 81 %", by=GITHUB_ACTIONS.bot, app=GITHUB_ACTIONS)
    ours = shop.repo.checks("gateval", pull.head_sha)[0].external_id
    assert (ours or "").endswith(f"/c{pull.comments[0].id}")
    forged = shop.repo.add_check(
        "gateval", pull.head_sha, app=shop.server.world.app("other-bot"), status="in_progress"
    )
    forged.external_id = (ours or "").replace(f"/c{pull.comments[0].id}", f"/c{report.id}")
    number = pull.comments[0].id
    pull.edit(pull.comments[0], GREEN)
    assert shop.on_pull(pull, "reopened").run_action().code == 1
    assert report.body == "Coverage: 81 %"
    assert [one.id for one in pull.comments] == [number, report.id]
    assert read_mark(pull.comments[0].body)
