"""What models are offered, head beside base: sentences, and only of what all trials share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from gateval.domain.results.offers import (
    LINES_KEPT,
    OfferCollector,
    SharedOffer,
    joined,
    offer_changes,
)
from gateval.domain.trials.model_call import (
    Message,
    ModelOffer,
    ModelRequest,
    OffersOfTrial,
    ToolDefinition,
    in_one_trial,
)
from gateval.domain.trials.trial import Side

SEARCH = ToolDefinition(name="search", description="Look things up on the web.")
REFUND = ToolDefinition(name="refund", description="Give money back to who bought.")
BASE = ModelOffer(
    models=("openai/a",), system=("You help.",), tools=(SEARCH,), parameters=("temperature 0",)
)


def changed(base: ModelOffer, head: ModelOffer, trials: int = 2) -> list[str]:
    sides = {Side.BASE: base, Side.HEAD: head}
    found = offer_changes(
        SharedOffer(agent="desk", side=side, trials=trials, offer=offer)
        for side, offer in sides.items()
    )
    return [said for says in found.values() for said in says]


SAID: dict[str, tuple[dict[str, object], list[str]]] = {
    "nothing": ({}, []),
    "a tool by another name": (
        {"tools": (SEARCH.model_copy(update={"name": "lookup"}),)},
        ['tool "search" is now "lookup"'],
    ),
    "another tool": ({"tools": (REFUND,)}, ['tool "search" is gone', 'tool "refund" is new']),
    "a description": (
        {"tools": (SEARCH.model_copy(update={"description": "Find."}),)},
        ['tool "search" has another description'],
    ),
    "a schema": (
        {"tools": (SEARCH.model_copy(update={"input_schema": {"type": "object", "a": 1}}),)},
        ['tool "search" has another schema'],
    ),
    "a model": ({"models": ("openai/b",)}, ['model "openai/a" is now "openai/b"']),
    "one model more": ({"models": ("openai/a", "openai/b")}, ['model "openai/b" is new']),
    "a parameter set otherwise, and one more": (
        {"parameters": ("temperature 1", "max_tokens 5")},
        ['parameter "temperature 0" is now "temperature 1"', 'parameter "max_tokens 5" is new'],
    ),
    "a parameter set twice": (
        {"parameters": ("temperature 1", "temperature 2")},
        [f'parameter "temperature {one}' for one in ('0" is gone', '1" is new', '2" is new')],
    ),
    "a long parameter": (
        {"parameters": ("temperature 0", f"response_format.json_schema {'x' * 90}")},
        ['parameter "response_format.json_schema" is new'],
    ),
    "another parameter": (
        {"parameters": ("top_p 1",)},
        ['parameter "temperature 0" is gone', 'parameter "top_p 1" is new'],
    ),
    "a parameter": ({"parameters": ()}, ['parameter "temperature 0" is gone']),
    "a longer prompt": (
        {"system": ("You help.", "x" * 399)},
        ["about 100 tokens more system prompt"],
    ),
    "no prompt": ({"system": ()}, ["about 2 tokens less system prompt"]),
    "another word": ({"system": ("You heal.",)}, ["another system prompt, about as long"]),
}


@pytest.mark.parametrize("what", SAID)
def test_each_change_has_its_sentence(what: str) -> None:
    update, said = SAID[what]
    assert changed(BASE, BASE.model_copy(update=update)) == said


def test_a_long_parameter_has_another_value() -> None:
    base, head = (BASE.model_copy(update={"parameters": (f"stop {one * 90}",)}) for one in "xy")
    assert changed(base, head) == ['parameter "stop" has another value']


def test_lines_in_another_order_are_told_as_such() -> None:
    one = BASE.model_copy(update={"system": ("a", "b")})
    assert changed(one, BASE.model_copy(update={"system": ("b", "a")})) == [
        "the lines of the system prompt stand in another order"
    ]


def test_of_one_trial_nobody_knows_what_of_the_prompt_is_of_the_question() -> None:
    head = BASE.model_copy(update={"system": ("Something else",), "tools": ()})
    assert changed(BASE, head, trials=1) == ['tool "search" is gone']


@pytest.mark.parametrize("side", Side)
def test_a_side_that_was_not_seen_is_compared_with_nothing(side: Side) -> None:
    assert offer_changes([SharedOffer(agent="desk", side=side, trials=9, offer=BASE)]) == {}


def parts() -> Iterator[ModelOffer]:
    choices = product(((), ("m",), ("m", "n")), ((), ("a", "b"), ("b",)), ((), (SEARCH,)))
    for models, system, tools in choices:
        yield ModelOffer(models=models, system=system, tools=tools)


def of(*trials: ModelOffer, side: Side = Side.HEAD) -> SharedOffer:
    collector = OfferCollector({})
    collector.add(SharedOffer(agent="desk", side=side, trials=1, offer=one) for one in trials)
    (found,) = collector.found()
    return found


def test_what_two_trials_share_is_in_both_and_the_rest_in_some() -> None:
    for one, other in product(parts(), parts()):
        found = joined(of(one), of(other))
        every, some = found.offer, found.sometimes
        assert set(every.models) == set(one.models) & set(other.models)
        assert set(some.models) == set(one.models) ^ set(other.models)
        assert set(every.system) == set(one.system) & set(other.system)
        assert set(some.system) == set(one.system) ^ set(other.system)
        assert [*every.tools] == [tool for tool in one.tools if tool in other.tools]
        assert len(every.tools) + len(some.tools) == max(len(one.tools), len(other.tools))


SPOKE = ModelOffer(models=("openai/a",), system=("You sort.",), tools=(SEARCH,))
HANDED_ON = ModelOffer(
    models=("openai/a", "openai/b"),
    system=("You sort.", "You refund."),
    tools=(SEARCH, REFUND),
    parameters=("temperature 0",),
)


@pytest.mark.parametrize(
    "head", [[SPOKE, HANDED_ON], [HANDED_ON, SPOKE], [SPOKE, SPOKE, HANDED_ON]]
)
def test_an_agent_that_hands_on_or_not_changed_nothing(head: list[ModelOffer]) -> None:
    """Nor does a trial that an outage ended before the second agent was asked."""
    always, now_and_then = [HANDED_ON, HANDED_ON], head
    for base, now in ((always, now_and_then), (now_and_then, always), (now_and_then, head)):
        assert offer_changes([of(*base, side=Side.BASE), of(*now)]) == {}


def test_beside_what_is_random_a_change_is_told() -> None:
    renamed = HANDED_ON.model_copy(
        update={"tools": (SEARCH.model_copy(update={"name": "lookup"}), REFUND)}
    )
    only = SPOKE.model_copy(update={"tools": renamed.tools[:1]})
    found = offer_changes([of(SPOKE, HANDED_ON, side=Side.BASE), of(renamed, only)])
    assert found == {"desk": ('tool "search" is now "lookup"',)}


def test_of_prompts_with_more_than_is_kept_nothing_is_said() -> None:
    odd = [ModelOffer(models=("m",), system=(f"Case {n}.",)) for n in range(LINES_KEPT + 1)]
    plain = ModelOffer(models=("m",), system=("You help.",))
    found = of(*odd, side=Side.BASE)
    assert len(found.sometimes.system) == LINES_KEPT
    assert offer_changes([found, of(plain, plain)]) == {}


def test_parts_of_a_run_share_what_all_their_trials_share() -> None:
    collector = OfferCollector({})
    other = BASE.model_copy(update={"system": ("You help.", "Now.")})
    collector.add(
        SharedOffer(agent="desk", side=Side.HEAD, trials=trials, offer=offer)
        for trials, offer in ((2, BASE), (3, other))
    )
    (found,) = collector.found()
    assert (found.trials, found.offer) == (5, BASE)


def asked(text: str, *tools: ToolDefinition, temperature: float | None = None) -> ModelRequest:
    messages = (Message(role="system", text=text), Message(role="user", text="Hello"))
    return ModelRequest(model="a", messages=messages, tools=tools, temperature=temperature)


def test_the_requests_of_a_trial_offer_together() -> None:
    offers = OffersOfTrial()
    assert offers.found() is None
    offers.add("openai/a", asked("You help.\nBe kind.", SEARCH, temperature=0.5))
    offers.add("openai/b", asked("Be kind.\nYou refund.", REFUND))
    found = offers.found()
    assert found == ModelOffer(
        models=("openai/a", "openai/b"),
        system=("You help.", "Be kind.", "You refund."),
        tools=(SEARCH, REFUND),
        parameters=("temperature 0.5",),
    )
    assert in_one_trial([None, found, None]) == found
    assert in_one_trial([found, found]) == found
    assert in_one_trial([None]) is None
