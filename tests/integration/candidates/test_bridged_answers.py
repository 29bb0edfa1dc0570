"""What functions behind a bridge may answer with, and what is said of what no text can hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateval.domain.trials.trial import Answer
from tests.helpers.candidates import ask, bridged_agent
from tests.integration.candidates.test_bridges import answered, needs_node, reason, world_of

OBJECTS = """\
    import collections

    class Reply:
        def __init__(self, text):
            self.text, self.parts, self._own = text, [1], "kept"

    class Bare:
        pass

    Pair = collections.namedtuple("Pair", "text words")

    def maps(q):
        return map(str.upper, ("maps ", q))

    def replies(q):
        return Reply(q)

    def pairs(q):
        return Pair(q, 1)

    def bare(q):
        return Bare()
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("maps", "MAPS HELLO"),
        ("replies", '{"parts":[1],"text":"hello"}'),
        ("pairs", '{"text":"hello","words":1}'),
    ],
)
def test_an_iterator_and_an_object_are_answers(tmp_path: Path, name: str, said: str) -> None:
    world = world_of(tmp_path)
    world.write("desk.py", OBJECTS)
    given = answered(world, bridged_agent("python", f"desk:{name}"), ask("hello"))
    assert isinstance(given, Answer), given
    assert given.output == said


def test_an_object_that_says_nothing_is_no_answer(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write("desk.py", OBJECTS)
    found = reason(answered(world, bridged_agent("python", "desk:bare"), ask()))
    assert found == (
        "`desk:bare` answered with something of the type `desk.Bare`, which is neither a text nor "
        "what JSON can hold."
    )


@needs_node
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("circle", "Object, which holds itself"),
        ("made", "symbol"),
    ],
)
def test_what_json_cannot_hold_is_a_sentence(tmp_path: Path, name: str, said: str) -> None:
    world = world_of(tmp_path)
    world.write(
        "desk.mjs",
        """\
        export const circle = (q) => { const o = { q }; o.o = o; return o; };
        export const made = (q) => Symbol(q);
        """,
    )
    found = reason(answered(world, bridged_agent("node", f"desk.mjs:{name}"), ask()))
    assert found.startswith(f"`desk.mjs:{name}` answered with something of the type `{said}`"), (
        found
    )


@pytest.mark.parametrize("language", ["python", pytest.param("node", marks=needs_node)])
def test_a_bridge_of_ones_own_that_is_nowhere_is_named(tmp_path: Path, language: str) -> None:
    world = world_of(tmp_path)
    world.write("desk.py", "def f(q): return q")
    world.write("desk.mjs", "export const f = (q) => q;")
    target, ours = ("desk:f", "ours.py") if language == "python" else ("desk.mjs:f", "ours.mjs")
    found = reason(answered(world, bridged_agent(language, target, framework=ours), ask()))
    assert found.startswith(f"There is no file `{ours}` in ")
    assert found.endswith("Correct `framework`.")
