"""Gates that look at a part only have another name and say what they leave out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.adapters.git.repository import open_repository
from gateval.app.readers import registries, rules_here
from gateval.domain.forge.check_run import GATE_PATTERN
from gateval.domain.plan.plan import Plan
from gateval.domain.planning.selection import EVERYTHING, Narrowing, narrow
from gateval.errors import UsageError
from gateval.pipeline.plan import plan_a_change
from gateval.pipeline.read import find_revisions
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL, build_shop, plan_of

names = st.lists(st.from_regex(r"\A[a-z0-9]([-a-z0-9.]{0,80}[a-z0-9])?\Z"), max_size=4)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = build_shop(tmp_path_factory.mktemp("narrowing") / "shop")
    repo.write("evals/second.yaml", EVAL.replace("support-eval", "second-eval"))
    repo.write("agents/prompts/support.md", "Different.\n")
    repo.commit()
    return repo


@pytest.fixture(scope="module")
def plan(shop: Repo) -> Plan:
    return plan_of(shop, base="main")


def test_everything_is_the_gate_itself(plan: Plan) -> None:
    assert EVERYTHING.gate == "gateval"
    assert narrow(plan, EVERYTHING) is plan


def test_what_is_left_out_is_named(plan: Plan) -> None:
    narrowed = narrow(plan, Narrowing(evals=("second-eval",)))
    assert [one.name for one in narrowed.evals] == ["second-eval"]
    assert narrowed.warnings[0] == (
        "This gate looks at the Evals second-eval only. "
        "Left out, though the change calls for them: support-eval."
    )


def test_nothing_left_says_so(plan: Plan) -> None:
    narrowed = narrow(plan, Narrowing(agents=("other",)))
    assert narrowed.evals == ()
    assert narrowed.agents == ()
    assert narrowed.nothing.startswith("Nothing to evaluate. This gate looks at the Agents other")
    assert Plan.model_validate(narrowed.model_dump()) == narrowed


@pytest.mark.parametrize(
    ("narrowing", "sentence"),
    [
        (Narrowing(agents=("suport",)), 'no Agent "suport" on this revision. Did you mean'),
        (Narrowing(evals=("support",)), 'no Eval "support" on this revision'),
    ],
)
def test_a_name_that_nothing_has_is_refused(
    shop: Repo, narrowing: Narrowing, sentence: str
) -> None:
    repository = open_repository(shop.path, shop.env)
    revisions = find_revisions(repository, base="main", head="HEAD")
    with pytest.raises(UsageError) as refused:
        plan_a_change(
            repository, registries(), revisions, rules_here(shop.env), narrowing=narrowing
        )
    assert sentence in refused.value.message


@given(names, names, names, names)
def test_every_narrowing_is_a_gate_of_its_own(
    a: list[str], b: list[str], c: list[str], d: list[str]
) -> None:
    one, two = (
        Narrowing(agents=tuple(a), evals=tuple(b)),
        Narrowing(agents=tuple(c), evals=tuple(d)),
    )
    assert re.fullmatch(GATE_PATTERN, one.gate)
    assert (one.gate == two.gate) == (one == two)
    assert (one.gate == "gateval") == (one == EVERYTHING)


def test_names_that_read_like_parts() -> None:
    one = Narrowing(agents=("a", "evals", "b"))
    assert one.gate != Narrowing(agents=("a",), evals=("b",)).gate
