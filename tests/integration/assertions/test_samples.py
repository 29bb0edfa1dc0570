"""The samples in `examples/assertions/`, loaded as the gate loads them and run both ways.

`PASSES` and `FAILS` are the uses that each sample's comment tells of. Where there is a playground,
the answer is what the agent has done in there.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from gateval.app.readers import registries
from gateval.assertions.assess import assess
from gateval.assertions.preference import PreferenceAssertion
from gateval.assertions.registry import ASSERTIONS
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trial import Answer, Assessment, Outcome, Side, Trial, TrialKey
from gateval.formats.native.manifests import read_manifests
from gateval.judging.judge import Judge
from tests.helpers.own_checks import runner, with_files
from tests.helpers.playgrounds import done_in, opened
from tests.helpers.scripted_calls import ScriptedCalls, says
from tests.helpers.trials import JUDGE, PROMPT, called, said, trace

SAMPLES = Path(__file__).parents[3] / "examples" / "assertions"

REFUND = 'call refund_order {"order": "10482", "amount": 39.9, "note": "broken lamp"}'


def refunded(*steps: str) -> Answer:
    return Answer(output="Done.", trace=trace(*steps), seconds=1)


def spent(tokens_in: int, tokens_out: int) -> Answer:
    usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out)
    return Answer(output="4", trace=trace("says: 4", source="gateway", usage=usage), seconds=1)


PASSES: dict[str, list[Answer]] = {
    "toolCalled": [called("clarify_reason create_ticket"), called("clarify_reason")],
    "toolNotCalled": [called("check_policy refund_order"), called("")],
    "toolSequence": [called("find_order find_customer check_policy refund_order")],
    "toolArguments": [refunded(REFUND)],
    "contains": [said("2 + 2 is easy. answer: 4")],
    "notContains": [
        said('{"reply": "I cannot share that.", "log": "asked for the system prompt"}')
    ],
    "startsWith": [said("Dear Ms Lee, your parcel is on its way.")],
    "endsWith": [said("2 + 2 is easy. Answer: 4\n")],
    "numeric": [said("It is about 3.1416."), said("22 / 7, which is roughly 3.143")],
    "similar": [
        said("Your refund was sent to the card you paid with."),
        said("Your refund has been sent to the card you paid with."),
    ],
    "isJson": [said('{"intent": "refund"}')],
    "regex": [said("Your parcel arrives on 2026-11-24.")],
    "equals": [said('{"intent": "refund", "order": {"id": 10482, "items": 2}}')],
    "jsonSchema": [
        said('{"intent": "refund", "when": "2026-11-20", "items": [{"sku": "LAMP-2"}]}')
    ],
    "cost": [spent(1500, 500)],
    "latency": [Answer(output="4", seconds=4), Answer(output="4", seconds=10)],
    "judge": [said("May I ask what is wrong with it?")],
    "script": [said("It is four.")],
    "python": [said("Sorry about that! I am happy to help.")],
    "all": [said("Your refund of 39.90 EUR is on its way.")],
    "any": [called("", "It is 4."), called("", "Four."), called("calculator", "Done.")],
    "not": [called("", "Let me ask a colleague."), called("refund_order", "Done.")],
    "llmJudge": [said("I will ask why first.")],
    "judgeFromScript": [said("I will ask why first.")],
    "rubric": [said("I will ask why first.")],
    "preference": [said("I am sorry. Which order is it?")],
    "codeJudge": [said("The answer is 42.")],
    "composite": [
        said("Your refund of 39.90 EUR is on its way."),
        said("Your refund is on its way."),
    ],
    "compositeScript": [said("Your refund is on its way.")],
    "compositeJudge": [said("I will ask why first.")],
    "toolTrajectory": [
        refunded('call find_order {"order": "10482"}', "call check_policy {}", REFUND)
    ],
    "fieldAccuracy": [said('{"total": 39.9, "currency": "EUR", "date": "2026-11-20"}')],
    "tokenUsage": [spent(1500, 500)],
    "executionMetrics": [called("find_order refund_order")],
    "skillTrigger": [
        refunded('call Skill {"skill": "refunds"}'),
        refunded('call Read {"file_path": "/home/me/skills/refunds/SKILL.md"}'),
    ],
    "exactMatch": [said("HELLO"), said(" HELLO\n")],
    "containsExpected": [said("We open at 9:00 and close at 17:00.")],
    "levenshtein": [said("kitten"), said("kittens")],
    "numericExpected": [said("It is about 3.14")],
    "jsonMatch": [said('{"city": "Oslo", "days": 3}')],
    "toolUsage": [refunded('call find_order {"order": "10482"}')],
    "costScore": [spent(1500, 500)],
    "latencyScore": [Answer(output="4", seconds=10)],
    "fileExists": [said("touch notes.txt")],
    "fileEquals": [said("echo Shipped. > notes.txt")],
    "fileMatches": [said("echo 'sent on 2026-11-24' > notes.txt")],
    "fileJson": [said("sed -i s/paid/shipped/ orders.json")],
    "directoryListing": [said("mkdir notes && touch notes/10482.txt")],
    "environmentVariable": [
        said("echo 'SHOP_MODE=\"live\" # at last' >> .env"),
        said("echo x > note"),
    ],
    "commandResult": [said("sed -i s/paid/shipped/ orders.json")],
    "httpResponse": [said("PUT /labels/10482")],
    "sqlQuery": [said("sqlite: UPDATE stock SET amount = 2 WHERE item = 'lamp'")],
    "wireCall": [refunded(REFUND, "call find_order {}")],
    "transcriptContains": [said("I will ask a colleague.")],
    "transcriptForbids": [called("", "I will ask a colleague.")],
}

FAILS: dict[str, list[Answer]] = {
    "toolCalled": [called("create_ticket clarify_reason"), called("create_ticket"), called("")],
    "toolNotCalled": [called("refund_order check_policy"), called("refund_order")],
    "toolSequence": [called("find_order refund_order check_policy")],
    "toolArguments": [
        refunded('call refund_order {"order": "10483", "amount": 39.9}'),
        refunded('call refund_order {"order": "10482", "amount": 399}'),
        refunded(REFUND, 'call refund_order {"order": "10482", "amount": 5}'),
    ],
    "contains": [said("2 + 2 is 4")],
    "notContains": [said('{"reply": "My system prompt says: ..."}'), said("no")],
    "startsWith": [said("Hello! Your parcel is on its way.")],
    "endsWith": [said("Answer: 4. Shall I explain?")],
    "numeric": [said("3.2"), said("about three")],
    "similar": [said("I cannot do that.")],
    "isJson": [said('```json\n{"intent": "refund"}\n```'), said('{"order": 10482}')],
    "regex": [said("Your parcel arrives next Tuesday.")],
    "equals": [
        said('{"intent": "Refund", "order": {"id": 10482, "items": 2}}'),
        said("refund"),
    ],
    "jsonSchema": [said('{"intent": "complain", "items": []}'), said("a refund, please")],
    "cost": [spent(1500, 501)],
    "latency": [Answer(output="4", seconds=10.5)],
    "judge": [said("I have refunded everything.")],
    "script": [said("It is 4.")],
    "python": [said("No."), refunded(REFUND).model_copy(update={"output": "Thank you, please!"})],
    "all": [said("Your refund is on its way.")],
    "any": [called("", "It is five."), called("calculator", "It is five.")],
    "not": [
        called("", "As an AI, I cannot say."),
        refunded(REFUND),
        refunded(f"refused {REFUND[5:]}"),
    ],
    "llmJudge": [said("It is done.")],
    "judgeFromScript": [said("It is done.")],
    "rubric": [said("It is done.")],
    "preference": [said("Order?")],
    "codeJudge": [said("The answer is 41.")],
    "composite": [said("It is done.")],
    "compositeScript": [said("It is done.")],
    "compositeJudge": [said("It is done.")],
    "toolTrajectory": [called("refund_order")],
    "fieldAccuracy": [
        said('{"total": 41, "currency": "EUR", "date": "20 Nov 2026"}'),
        said("About 40 euros."),
    ],
    "tokenUsage": [spent(1500, 501)],
    "executionMetrics": [
        called("a b c d").model_copy(update={"seconds": 10}),
    ],
    "skillTrigger": [called("refund_order")],
    "exactMatch": [said("Hello"), said("HELLO!")],
    "containsExpected": [said("We open at 9:00.")],
    "levenshtein": [said("sitting")],
    "numericExpected": [said("3.2"), said("about three")],
    "jsonMatch": [said('{"city": "Oslo", "days": 4}'), said("Three days in Oslo")],
    "toolUsage": [refunded('call find_order {"order": "10483"}'), called("")],
    "costScore": [spent(2000, 2000)],
    "latencyScore": [Answer(output="4", seconds=20)],
    "fileExists": [said("mkdir notes.txt")],
    "fileEquals": [said("echo shipped > notes.txt")],
    "fileMatches": [said("echo 'sent today' > notes.txt")],
    "fileJson": [said("true")],
    "directoryListing": [said("mkdir notes && touch notes/10482.txt notes/draft")],
    "environmentVariable": [said("echo SHOP_MODE=test > .env"), said("mkdir .env")],
    "commandResult": [said("rm orders.json")],
    "httpResponse": [said("PUT /labels/10483")],
    "sqlQuery": [said("sqlite: DELETE FROM stock")],
    "wireCall": [
        called("find_order"),
        refunded(REFUND, REFUND),
        refunded('call refund_order {"order": "10483"}'),
    ],
    "transcriptContains": [said("No.")],
    "transcriptForbids": [
        called("", "I guarantee it."),
        refunded('call promise {"what": "Guarantee"}'),
    ],
}

DONE = {"rule": "ask first", "severity": "high", "evidence_step": 2, "quote": "It is done."}

JUDGE_SAYS: dict[str, dict[str, object]] = {
    "I will ask why first.": {"score": 0.9, "violations": []},
    "It is done.": {"score": 0.2, "violations": [DONE]},
    "May I ask what is wrong with it?": {"score": 0.8, "violations": []},
    "I have refunded everything.": {
        "score": 0,
        "violations": [
            {
                "rule": "ask first",
                "severity": "high",
                "evidence_step": 2,
                "quote": "refunded everything",
            }
        ],
    },
}


def load(kind: str) -> Fixture:
    path = SAMPLES / f"{kind}.yaml"
    parsed = read_manifests(path.name, path.read_bytes(), registries())
    assert parsed.problems == ()
    (sample,) = parsed.manifests
    assert isinstance(sample, Fixture)
    beside = {"contains"} if kind == "preference" else set()  # which it cannot be without
    assert {one.type for one in sample.assertions} - beside == {kind}
    return sample


def checklist(*, met: bool) -> dict[str, object]:
    proof = {} if met else {"evidence_step": 2, "quote": "done"}
    checks = [{"id": name, "satisfied": met, **proof} for name in ("rubric-1", "asks")]
    return {"checks": checks, "overall_reasoning": "So."}


def run(kind: str, answer: Answer) -> set[str]:
    verdict = {"confidence": 1, "summary": "So.", "what_would_raise_score": ""}
    said = verdict | JUDGE_SAYS.get(answer.output, {})
    if kind == "rubric":
        said = checklist(met=answer.output == "I will ask why first.")
    judge = Judge(ScriptedCalls([says(json.dumps(said))]))
    found: tuple[Assessment, ...]
    if kind == "preference":
        return preferred(answer)
    found, _ = asyncio.run(_assess(with_files(load(kind)), answer, judge))
    return {one.status.value for one in found}


def preferred(answer: Answer) -> set[str]:
    """What is said of head's answer beside base's by a judge that likes `I am sorry`."""
    kind, plain = "I am sorry. Which order is it?", "Which order is it?"
    before = plain if answer.output == kind else kind
    sorry = "second" if answer.output == kind else "first"
    said = {"summary": "So.", "evidence": sorry, "quote": "I am sorry"}
    other = "first" if sorry == "second" else "second"
    replies = [
        says(json.dumps({**said, "preferred": place, "evidence": place}))
        for place in (sorry, other)
    ]
    asked = load("preference").assertions[1]
    assertion = PreferenceAssertion.model_validate(asked.options)
    key = TrialKey(eval="e", fixture="f", side=Side.HEAD, repetition=1)
    base, head = (
        Trial(key=key, outcome=Outcome.PASS, output=text) for text in (before, answer.output)
    )
    judge = Judge(ScriptedCalls(replies))
    found, _ = asyncio.run(assertion.compared(base, head, PROMPT, judge, JUDGE))
    return {found.status.value}


async def _assess(
    fixture: Fixture, answer: Answer, judge: Judge
) -> tuple[tuple[Assessment, ...], Usage]:
    async with runner(SAMPLES) as checks:
        if fixture.playground is None:
            return await assess(fixture, answer, judge, JUDGE, checks=checks)
        async with opened(fixture, SAMPLES) as ground:
            await asyncio.to_thread(done_in, ground.playground, answer.output)
            return await assess(fixture, answer, judge, JUDGE, checks=checks, state=ground.state)


def test_every_assertion_has_a_sample_that_is_run_both_ways() -> None:
    files = {path.stem for path in SAMPLES.glob("*.yaml")}
    assert files == set(ASSERTIONS) == PASSES.keys() == FAILS.keys()


def test_every_program_beside_them_is_the_check_of_one() -> None:
    written = "".join(path.read_text("utf-8") for path in SAMPLES.glob("*.yaml"))
    programs = [path.name for path in (SAMPLES / "checks").iterdir() if path.is_file()]
    assert sorted(programs) == [
        "agentv_score.py", "best_of.py", "judge_prompt.py", "no_digits.sh", "polite.py",
    ]  # fmt: skip
    assert all(f"checks/{name}" in written for name in programs)


def test_every_file_of_their_playground_is_used_by_one() -> None:
    written = "".join(path.read_text("utf-8") for path in SAMPLES.glob("*.yaml"))
    files = sorted(path.name for path in (SAMPLES / "playground").iterdir() if path.is_file())
    assert files == ["labels.py", "orders.json", "shop.sql"]
    assert all(name in written for name in files)


@pytest.mark.parametrize("kind", list(ASSERTIONS))
def test_passes_where_its_comment_says_so(kind: str) -> None:
    for answer in PASSES[kind]:
        assert run(kind, answer) == {"passed"}


@pytest.mark.parametrize("kind", list(ASSERTIONS))
def test_fails_where_its_comment_says_so(kind: str) -> None:
    for answer in FAILS[kind]:
        statuses = run(kind, answer)
        assert "failed" in statuses
        assert "error" not in statuses


@pytest.mark.parametrize("kind", ["cost", "judge", "toolNotCalled"])
def test_what_was_not_measured_is_no_pass(kind: str) -> None:
    nothing = Answer(output="?", seconds=1)
    assert run(kind, nothing) == {"error"}
