"""What `init` writes, as text."""

from __future__ import annotations

import pytest
import yaml

from gateval import __version__
from gateval.render.starter import scalar, workflow
from tests.helpers.command import ROOT

FORKS = """\
      github.event.pull_request.head.repo.full_name == github.repository &&
      github.actor != 'dependabot[bot]' &&
"""


def test_the_sample_workflow_is_what_init_writes() -> None:
    """But for two lines: the sample stands beside workflows for forks, and `init` writes none."""
    sample = (ROOT / "examples/workflows/gate.yml").read_text("utf-8")
    ours = workflow(["ANTHROPIC_API_KEY"], [], __version__)
    _, _, theirs = sample.partition("name: Agent evals\n")
    alone = theirs.replace(FORKS, "").replace("(!github", "!github").replace("name))", "name)")

    assert FORKS in theirs
    assert alone == ours.partition("name: Agent evals\n")[2]


def test_several_keys_and_none() -> None:
    two = workflow(["A_API_KEY", "B_API_KEY"], [], "1.2.3")
    steps = yaml.safe_load(two)["jobs"]["evals"]["steps"]
    (gate,) = [step for step in steps if step["uses"] == "gateval/gateval@v1.2.3"]
    names = ("GATEVAL_LAYERS_KEY", "A_API_KEY", "B_API_KEY")
    keys = {name: f"${{{{ secrets.{name} }}}}" for name in names}
    assert gate["env"] == {"GATEVAL_LAYERS": ".gateval/layers", **keys}
    assert workflow([], [], "1.2.3").count("secrets.") == 1


@pytest.mark.parametrize("text", ["a-b.c", "/x/y.md", "null", "1", "1.0", 'q"uote', "a: b", "ä b"])
def test_a_scalar_is_read_back_as_it_was(text: str) -> None:
    assert yaml.safe_load(scalar(text)) == text
