"""A value with other fields is what pydantic's own copy is, without its price."""

from __future__ import annotations

import pytest

from gateval.domain.base import Spec, Value
from gateval.domain.manifests.agent import AgentTool
from gateval.domain.trials.trace import Trace
from tests.helpers.reports import make_results

TRIAL = make_results("a-eval f base:pass head:pass").trials[0]
OPEN = AgentTool.model_validate({"type": "mcp", "of": {"strangers": 1}})


@pytest.mark.parametrize(
    ("value", "changes"),
    [
        pytest.param(TRIAL, {}, id="nothing"),
        pytest.param(TRIAL, {"trace": Trace(), "output": "Hello."}, id="fields"),
        pytest.param(TRIAL.replace(output="Hello."), {"output": None}, id="of a copy"),
        pytest.param(OPEN, {"enabled": False}, id="one that keeps unknown fields"),
    ],
)
def test_a_replaced_value_is_a_copy_with_these_fields(
    value: Value | Spec, changes: dict[str, object]
) -> None:
    before, expected = value.model_dump_json(), value.model_copy(update=changes)
    found = value.replace(**changes)
    assert type(found) is type(expected)
    assert found == expected
    assert found.model_fields_set == expected.model_fields_set
    assert found.model_extra == expected.model_extra
    assert found.model_dump_json(exclude_unset=True) == expected.model_dump_json(exclude_unset=True)
    assert list(found.__dict__) == list(expected.__dict__)
    assert value.model_dump_json() == before
    with pytest.raises(ValueError, match="frozen"):
        setattr(found, next(iter(changes), "key"), None)
