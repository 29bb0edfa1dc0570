"""Secrets are taken out of every text of a value, whatever stands around them."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gateval
from gateval.domain.base import Value
from gateval.safe.redaction import MARK, Redactor

SECRET = 'k-"9\\8\n7/u6'


class Leaf(Value):
    """A value with texts in all places that a value can have them."""

    text: str = ""
    several: tuple[str, ...] = ()
    by_name: dict[str, object] = {}
    inner: Value | None = None


class Wider(Leaf):
    """Stands where a `Leaf` or a `Value` is declared."""

    more: str = ""


TEXTS = st.one_of(
    st.text(max_size=12),
    st.builds("{}{}{}".format, st.text(max_size=4), st.just(SECRET), st.text(max_size=4)),
)
LEAVES = st.builds(
    Wider,
    text=TEXTS,
    several=st.tuples(TEXTS),
    by_name=st.dictionaries(TEXTS, TEXTS, max_size=2),
    more=TEXTS,
)


@given(value=st.builds(Leaf, text=TEXTS, inner=LEAVES))
def test_a_value_is_redacted_as_each_of_its_texts_is(value: Leaf) -> None:
    redactor = Redactor([SECRET])
    clean, inner = redactor.value(value), value.inner
    assert isinstance(inner, Wider)
    assert isinstance(clean.inner, Wider)
    assert clean.text == redactor.text(value.text)
    assert clean.inner.several == tuple(map(redactor.text, inner.several))
    assert clean.inner.more == redactor.text(inner.more)
    assert clean.inner.by_name == {
        redactor.text(key): redactor.text(str(one)) for key, one in inner.by_name.items()
    }


FORMS = {
    "plain": SECRET,
    "JSON": json.dumps(SECRET)[1:-1],
    "JSON with its own letters": json.dumps(SECRET, ensure_ascii=False)[1:-1],
    "base64": base64.b64encode(b"x" + SECRET.encode()).decode(),
    "hex": SECRET.encode().hex(),
    "hidden characters": SECRET[:5] + "\N{ZERO WIDTH SPACE}" + SECRET[5:],
    "a control character": SECRET[:5] + "\b" + SECRET[5:],
    "delete": SECRET[:5] + "\x7f" + SECRET[5:],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_found_deep_inside(form: str) -> None:
    clean = Redactor([SECRET]).value(Leaf(inner=Wider(more=f"see {FORMS[form]} there")))
    assert isinstance(clean.inner, Wider)
    assert MARK in clean.inner.more


@pytest.mark.parametrize(
    "text", ["all is well", "Grüße", 'say "hello"\n', "half \ud800 a pair", ""]
)
def test_what_holds_none_comes_back_as_it_is(text: str) -> None:
    value = Leaf(text=text, inner=Leaf(several=(text,)))
    assert Redactor([SECRET]).value(value) is value
    assert Redactor().value(value) is value


def test_what_json_leaves_out_is_known() -> None:
    """A value counts as clean by its JSON: whoever keeps what that leaves out redacts it."""
    found = {
        (file.name, line.split(":")[0].strip())
        for file in Path(gateval.__file__).parent.rglob("*.py")
        for line in file.read_text("utf-8").splitlines()
        if "exclude=True" in line
    }
    assert found == {
        ("trace.py", "offered"),  # by the run's context, before it is noted
        ("messages.py", "data"),  # a file of the repository, which nothing stores
        ("forecast.py", "least"),  # numbers
    }
