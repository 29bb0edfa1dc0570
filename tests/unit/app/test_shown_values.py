"""What a plan holds of what the policy passes on, and who is named for it."""

from __future__ import annotations

import pytest

from gateval.app.run.context import refuse_shown_values
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.plan.plan import Plan
from gateval.errors import UsageError
from gateval.settings import read_settings
from tests.helpers.reports import make_results

PASSED = {"CRM_TOKEN": "crm-7f3a9c2d1e8b4f60", "SHOP_TOKEN": "shop-19d8c7b6a5"}
KEY = "sk-proj-7f3a9c2d1e8b4f60a1b2"


def plan_of(fixture: str) -> Plan:
    policy = Policy(candidate_env=tuple(PASSED))
    return make_results(f"a-eval {fixture} base:pass head:pass").plan.replace(policy=policy)


def test_the_one_variable_is_named_and_a_name_that_is_its_value_is_not_shown() -> None:
    settings = read_settings(PASSED)
    with pytest.raises(UsageError) as refused:
        refuse_shown_values(plan_of(PASSED["SHOP_TOKEN"]), settings)
    assert "Eval a-eval holds the value of SHOP_TOKEN, which" in str(refused.value)
    plan = plan_of("f")
    (agent, *others) = plan.agents
    named = plan.replace(agents=(agent.replace(name=PASSED["CRM_TOKEN"]), *others))
    with pytest.raises(UsageError) as refused:
        refuse_shown_values(named, settings)
    assert "Agent [secret removed] holds the value of CRM_TOKEN, which" in str(refused.value)


def test_no_variable_is_named_for_a_key_of_a_provider() -> None:
    refuse_shown_values(plan_of(KEY), read_settings({**PASSED, "OPENAI_API_KEY": KEY}))
