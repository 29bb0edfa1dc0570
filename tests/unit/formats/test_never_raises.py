"""Whatever stands in a file, reading it gives problems and never an exception."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.catalogue_checks import check_catalogue
from gateval.formats.native.gate_config import read_gate_config, read_scripted
from tests.helpers.manifests import REGISTRIES, parse
from tests.helpers.tiers import examples

PAI = Path(__file__).parents[2] / "data" / "pai"
EXAMPLES = sorted(file.read_text(encoding="utf-8") for file in PAI.glob("*.yaml"))
SNIPPETS = (
    "[]", "{}", "null", "true", "-1", "1e999", '"\\0"', "&a", "*a", "!x", "<<: 1", "? ", "- ",
    ": ", "\t", "\n", "---\n", "|\n", "'", '"', "#", "{", "}", "[", "]", "é", "\u2028", "\x00", "A",
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """An example with some parts cut out and some strange ones put in."""
    text = draw(st.sampled_from(EXAMPLES))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        text = text[:start] + draw(st.sampled_from(SNIPPETS)) + text[end:]
    return text.encode("utf-8", "surrogatepass")


@settings(max_examples=examples(300), deadline=None)
@given(damaged())
def test_damaged_manifests(data: bytes) -> None:
    parsed = parse(data)
    for problem in parsed.problems:
        assert problem.place.line >= 1
        assert problem.message.isprintable()
        assert problem.message.endswith((".", "?"))
    agents = tuple(one for one in parsed.manifests if one.kind == "Agent")
    evals = tuple(one for one in parsed.manifests if one.kind == "Eval")
    check_catalogue(Catalogue(agents=agents, evals=evals), {}, REGISTRIES.providers)


@settings(max_examples=examples(100), deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    parse(b"apiVersion: gateval/v1\n" + data)
    read_gate_config("g.yml", data)
    read_scripted("s.yaml", data)
