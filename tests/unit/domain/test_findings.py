"""What check runs remember of findings: what is written is read, and what is lost is known."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import pytest

from gateval.adapters.age import new_identity, own_key
from gateval.adapters.age import seal as encrypt
from gateval.domain.forge.check_run import (
    MOST_FINDINGS,
    CheckRun,
    RegressionFinding,
    RunFindings,
    earlier_marks,
    key_id,
    marks,
)
from gateval.domain.history.standing import about_head, remembered
from gateval.domain.plan.sealing import OwnKey

KEY = "c" * 64
HEAD = "a" * 40
ONE = RegressionFinding(mark=KEY[:32], base_passes=5, base_trials=5, head_passes=0, head_trials=5)
RECORD = "d" * 64


def check(
    number: int, text: str = "", *, conclusion: str = "failure", record: str = RECORD
) -> CheckRun:
    told = f"/{record}" if record else ""
    stamp = f"gateval/gateval/2026-11-23T10:00:{number:02}Z/{number}.1{told}"
    return CheckRun(
        number=number, name="gateval", head_sha=HEAD, external_id=stamp, app="github-actions",
        completed=True, conclusion=conclusion, text=text,
    )  # fmt: skip


def test_what_is_written_is_read() -> None:
    found = RunFindings(
        total=3, listed=(ONE, ONE.model_copy(update={"mark": KEY[:32] + "@0123abcd"}))
    )
    assert RunFindings.parse(str(found)) == found
    assert not found.whole
    assert RunFindings.parse(str(RunFindings())) == RunFindings()
    spent = found.model_copy(update={"spent": "f" * 64})
    assert RunFindings.parse(str(spent)) == spent


def test_as_much_as_is_written_fits() -> None:
    """GitHub takes 65,535 characters, a runner's state is short."""
    whole = RunFindings(
        total=MOST_FINDINGS,
        listed=(ONE.model_copy(update={"mark": KEY[:32] + "@0123abcd"}),) * MOST_FINDINGS,
    )
    assert len(str(whole)) < 16_000
    assert RunFindings.parse(str(whole)) == whole


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!-- gateval:findings v2 total=0 -->",
        "<!-- gateval:findings v1 total=0 --> and more",
        f"<!-- gateval:findings v1 total=1 {'c' * 31}:1/1:0/1 -->",
        f"<!-- gateval:findings v1 total=1 {'c' * 32}:1/0:0/1 -->",
        f"<!-- gateval:findings v1 total=1 {'c' * 32}:1/1:0/9999 -->",
        f"<!-- gateval:findings v1 total=1{f' {ONE}' * (MOST_FINDINGS + 1)} -->",
        f"<!-- gateval:findings v1 total=1 {ONE}{ONE} -->",
        f"<!-- gateval:findings v1 total=0 spent={'f' * 63} -->",
        f"<!-- gateval:findings v1 total=0 spent={'f' * 64} spent={'f' * 64} -->",
        "<!-- gateval:findings v1 total=" + "9" * 10_000 + " -->",
    ],
)
def test_anything_else_is_not(text: str) -> None:
    assert RunFindings.parse(text) is None


def test_a_sealed_finding_is_told_to_holders_of_a_key_alone() -> None:
    """As earlier versions wrote it; now they are encrypted."""
    assert marks(KEY) == (KEY[:32],)
    (first, second) = earlier_marks(KEY, ["new", "old"])
    assert first.endswith(f"@{key_id('new')}")
    assert second.endswith(f"@{key_id('old')}")
    assert not {first[:32], second[:32]} & {KEY[:32]}
    assert earlier_marks(KEY, []) == ()
    assert earlier_marks(KEY, ["other"])[0] not in (first, second)


SEALED = RegressionFinding(**{**dict(ONE), "mark": earlier_marks(KEY, ["key"])[0]})
OWN, OTHER = (own_key({"GATEVAL_IDENTITY": new_identity()[0]}) for _ in range(2))
KEPT = RunFindings(kept=OWN.keep(str(RunFindings(total=1, listed=(ONE,))), about_head(HEAD)))


@pytest.mark.parametrize(
    ("own", "head", "lost"), [(OWN, HEAD, False), (OTHER, HEAD, True), (OWN, "d" * 40, True)]
)
def test_what_is_kept_of_sealed_evals_is_known_with_the_key_alone(
    own: OwnKey, head: str, *, lost: bool
) -> None:
    found = remembered((), [check(1, str(KEPT))], (), own, head)
    assert found.lost is lost
    assert set(found.known) == (set() if lost else {ONE.mark})
    assert RunFindings.parse(str(KEPT)) == KEPT


def test_anybody_can_encrypt_for_the_gate_and_nobody_can_keep_for_it() -> None:
    private, public = new_identity()
    own = own_key({"GATEVAL_IDENTITY": private})
    forged = encrypt(f"{'0' * 64}@{key_id(private)}\nall is well".encode(), [public])
    assert own.kept(base64.b64encode(forged).decode(), "this") is None
    assert own.kept(own.keep("all is well", "that"), "this") is None
    assert own.kept(own.keep("all is well", "this"), "this") == "all is well"
    assert own.kept("no base64!", "this") is None


@pytest.mark.parametrize(
    ("checks", "secrets", "lost"),
    [
        ([], [], False),
        ([check(1, str(RunFindings()))], [], False),
        ([check(1, str(RunFindings(total=1, listed=(ONE,))))], [], False),
        ([check(1, str(RunFindings(total=2, listed=(ONE,))))], [], True),
        ([check(2, str(RunFindings())), check(1, str(RunFindings(total=1)))], [], True),
        ([check(1, str(RunFindings(total=1, listed=(SEALED,))))], ["key"], False),
        ([check(1, str(RunFindings(total=1, listed=(SEALED,))))], ["new", "key"], False),
        ([check(1, str(RunFindings(total=1, listed=(SEALED,))))], ["new"], True),
        ([check(1, str(RunFindings(total=1, listed=(SEALED,))))], [], True),
        ([check(1)], [], True),
        ([check(1, "defaced")], [], True),
        ([check(1, conclusion="neutral")], [], True),
        ([check(1, conclusion="success")], [], False),
        ([check(1, conclusion="action_required")], [], False),
        ([check(1, record="")], [], False),
        ([check(2, str(RunFindings())), check(1, record="e" * 64)], [], False),
        ([check(2, record="e" * 64), check(1, str(RunFindings()))], [], True),
        ([check(2), check(1, str(RunFindings()))], [], False),
    ],
    ids=[
        "none", "nothing found", "found", "more than is listed", "more, an earlier one",
        "sealed", "sealed, and a new key beside", "sealed, with another key", "sealed, without key",
        "of an earlier Gateval", "defaced", "bypassed", "passed", "not evaluated", "broke off",
        "known to a newer one", "unknown to an older one", "said again for a label",
    ],
)  # fmt: skip
def test_what_is_lost(checks: Sequence[CheckRun], secrets: list[str], *, lost: bool) -> None:
    assert remembered((), checks, secrets).lost is lost


def test_what_every_check_run_of_the_head_found_is_known() -> None:
    other = ONE.model_copy(update={"mark": "e" * 32})
    found = [
        check(2, str(RunFindings(total=1, listed=(other,)))),
        check(1, str(RunFindings(total=1, listed=(ONE,)))),
    ]
    assert set(remembered((), found).known) == {ONE.mark, other.mark}


def test_budgets_that_check_runs_of_the_head_used_up() -> None:
    """Only what our stamp stands on counts, in whatever order and however the run ended."""
    spent = RunFindings(spent="f" * 64)
    found = [
        check(3, str(RunFindings()), conclusion="success"),
        check(2, str(spent), conclusion="action_required"),
        check(1, "spent=" + "e" * 64),
    ]
    assert remembered((), found).spent == {"f" * 64}
    (ours,) = found[1:2]
    assert not remembered((), [ours.model_copy(update={"external_id": "another"})]).spent
