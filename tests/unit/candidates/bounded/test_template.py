"""Templates from a pull request: what they give, what is refused, and what they may cost."""

from __future__ import annotations

import time

import pytest
from pydantic import JsonValue

from gateval.candidates.bounded import Budget, check_template, render
from gateval.domain.base import JsonObject
from gateval.formats.templates import TemplateError

VALUES: JsonObject = {
    "prompt": "hi {{ there }}",
    "input": {
        "type": "webhook",
        "payload": {"n": 3, "items": [{"sku": "a"}], "_id": "x", "odd key": True, "text": " t "},
    },
}

GIVEN: list[tuple[str, JsonValue]] = [
    ("plain", "plain"),
    ("", ""),
    ("ends with a line\n", "ends with a line\n"),
    ("{{ prompt }}", "hi {{ there }}"),
    ("{{prompt}}!", "hi {{ there }}!"),
    ("{{ input.type }}", "webhook"),
    ("{{ input.payload.n }}", 3),
    ("n={{ input.payload.n }}", "n=3"),
    ("{{ input.payload.n | tojson }}", "3"),
    ("{{ input.payload['odd key'] }}", True),
    ("{{ input.payload['odd key'] }}?", "true?"),
    ("{{ input.payload.items[0].sku }}", "a"),
    ("{{ input.payload.items[0] }}", {"sku": "a"}),
    ("{{ input.payload._id }}", "x"),
    ("{{ input.payload.text | trim }}.", "t."),
    ("{{ input.payload.nothing | default(7) }}", 7),
    ("{{ input.payload.nothing | default('-') }} {{ input.type | default('x') }}", "- webhook"),
    ("{# a remark #}{{ input.type }}", "webhook"),
    ("{{ '{{' }} {% raw %}{{ x }}{% endraw %}", "{{ {{ x }}"),
    ("a { b } % {", "a { b } % {"),
]


@pytest.mark.parametrize(("source", "expected"), GIVEN)
def test_what_a_template_gives(source: str, expected: JsonValue) -> None:
    check_template(source)
    assert render(source, VALUES, Budget()) == expected


REFUSED = [
    (
        "{{ ''.__class__ }}",
        (
            "only `prompt`, `messages`, `playground`, `input.type`, `input.payload` and `agent.name`, "
            "`agent.file`, `agent.model`, `agent.system` can be looked into"
        ),
    ),
    ("{{ prompt.__class__.__mro__ }}", "does not know `prompt.__class__.__mro__`"),
    ("{{ input.payload.__class__ }}", "a name cannot begin with two underscores"),
    ("{{ input.payload['__class__'] }}", "a name cannot begin with two underscores"),
    ("{{ input.payload | attr('x') }}", "unknown filter `attr`"),
    ("{{ range(10**9) }}", "`call` is not possible"),
    ("{{ prompt.format(1) }}", "`call` is not possible"),
    ("{{ x|format }}", "unknown filter `format` (known: default, tojson, trim)."),
    ("{{ prompt | tojsn }}", 'Did you mean "tojson"?'),
    ("{{ 'a' * 10**9 }}", "`mul` is not possible"),
    ("{{ 10 ** 10 ** 10 }}", "`pow` is not possible"),
    ("{{ prompt ~ prompt }}", "`concat` is not possible"),
    ("{{ [1] }}", "`list` is not possible"),
    ("{{ 1 if prompt else 2 }}", "`condexpr` is not possible"),
    ("{% for i in range(9) %}{% endfor %}", "no statement (`for`)"),
    ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "no statement (`macro`)"),
    ("{% include '/etc/passwd' %}", "no statement (`include`)"),
    ("{% set x = prompt %}", "no statement (`assign`)"),
    ("{{ self }}", "does not know `self`; it knows `prompt`, `messages`"),
    ("{{ cycler.__init__.__globals__ }}", "does not know `cycler.__init__.__globals__`"),
    ("{{ input.payload[prompt] }}", "between brackets only a number, or a text in quotes"),
    ("{{ input.payload[0:9] }}", "between brackets only a number, or a text in quotes"),
    ("{{ prompt | default(prompt) }}", "the filter `default` takes one constant"),
    ("{{ prompt | default(1, true) }}", "the filter `default` takes one constant"),
    ("{{ prompt | default(*prompt) }}", "the filter `default` takes one constant"),
    ("{{ prompt | tojson(indent=999999) }}", "the filter `tojson` takes no arguments"),
    ("{{ prompt", "the template cannot be read: unexpected end of template"),
    ("{{ }}", "the template cannot be read"),
    ("{% nonsense %}", "the template cannot be read"),
    ("{{" + "(" * 1900 + "1" + ")" * 1900 + "}}", "nested too deeply"),
    ("{{" + "-" * 3000 + "1}}", "the template cannot be read"),
    ("{{ input.payload" + ".a" * 900 + " }}", "a template may have 200 parts"),
    ("{{ prompt" + "|trim" * 700 + " }}", "a template may have 200 parts"),
    ("{{ prompt }}" * 300, "a template may have 200 parts"),
    ("x" * 4001, "a template may have 4,000 characters"),
]


@pytest.mark.parametrize(("source", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_when_the_manifest_is_read(source: str, expected: str) -> None:
    began = time.process_time()
    with pytest.raises(TemplateError) as refused:
        check_template(source)
    assert expected in str(refused.value)
    assert time.process_time() - began < 1
    with pytest.raises(TemplateError):
        render(source, VALUES, Budget())


@pytest.mark.parametrize(
    "source",
    ["{{ input.payload.gone }}", "{{ input.payload.items[5] }}", "{{ input.payload.n.x }}"],
)
def test_what_the_fixture_lacks_is_named(source: str) -> None:
    check_template(source)
    with pytest.raises(TemplateError, match="the fixture has no `input"):
        render(source, VALUES, Budget())


def test_a_huge_payload_many_times_is_stopped_before_it_is_made() -> None:
    values: JsonObject = {"prompt": "x" * 1_000_000, "input": {"type": "prompt", "payload": {}}}
    budget = Budget()
    with pytest.raises(TemplateError, match="more than 4,194,304 characters"):
        for _ in range(200):
            render("{{ prompt }}", values, budget)
    with pytest.raises(TemplateError, match="more than 4,194,304 characters"):
        render("{{ prompt }}." * 50, values, Budget())
