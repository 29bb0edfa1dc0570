"""A template that forgets the sanitiser does not render."""

from __future__ import annotations

import jinja2
import pytest

from gateval.render.comment_parts import UnsafeInterpolation, environment


def render(template: str, **values: object) -> str:
    return environment().from_string(template).render(**values)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ x | inline(10) }}", "a&#124;b"),
        ("{{ x | code(10) }}", "<code>a&#124;b</code>"),
        ("{{ x | block(10) }}", "```text\na|b\n```"),
        ("{{ 3 }} {{ 0.5 }}", "3 0.5"),
        ("own words | stay", "own words | stay"),
    ],
)
def test_sanitised_text_numbers_and_own_words_are_shown(template: str, text: str) -> None:
    assert render(template, x="a|b") == text


@pytest.mark.parametrize(
    "template",
    [
        "{{ x }}",
        "{{ x | upper }}",
        "{{ x | inline(10) | upper }}",
        "{{ 'a ' ~ (x | inline(10)) }}",
        "{{ [x] | join(', ') }}",
        "{{ [x] }}",
        "{{ none }}",
        "{{ true }}",
        "{% macro m() %}{{ x | inline(10) }}{% endmacro %}{{ m() }}",
    ],
)
def test_everything_else_is_refused(template: str) -> None:
    with pytest.raises(UnsafeInterpolation, match="unsanitised"):
        render(template, x="a|b")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render("{{ y | inline(10) }}")


def test_every_template_compiles() -> None:
    names = environment().list_templates()
    assert len(names) > 5
    for name in names:
        environment().get_template(name)
