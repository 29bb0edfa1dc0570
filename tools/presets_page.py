"""The page of the rubrics that come with the gate, made from their files."""

from __future__ import annotations

from gateval.domain.manifests.fixture import JUDGE_PRESETS
from gateval.judging.presets import Example, RubricPreset, preset

_INTRODUCTION = """\
# Rubrics that come with the gate

`{type: judge, preset: NAME}` asks an Eval's judge by one of them, and an Experiment has a scorer of
each name. 1 is the best score in all of them. `NAME@VERSION` refuses another version; another
wording is another version. `gateval calibrate --preset NAME` has a judge score the six examples.
"""

_SHOWN = {"expected": "`reference.answer`", "reference": "`reference.context`"}


def page() -> str:
    """Return `docs/reference/presets.md`."""
    return "\n".join([_INTRODUCTION, *(_section(preset(name)) for name in JUDGE_PRESETS)])


def _section(one: RubricPreset) -> str:
    needs = " or ".join(_SHOWN[key] for key in one.needs)
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(one.steps, 1))
    rows = "\n".join(_row(example) for example in one.examples)
    shown = f"The judge is shown {needs} of the fixture.\n\n" if needs else ""
    given = " | given" if one.needs else ""
    rule = "|---" if one.needs else ""
    return (
        f"## {one.name}\n\nVersion {one.version}. Source: {one.source}.\n\n{one.measures}\n\n"
        f"{shown}{steps}\n\nScore: {one.scale}\n\n"
        f"| asked{given} | answer | score | why |\n|---{rule}|---|--:|---|\n{rows}\n"
    )


def _row(example: Example) -> str:
    given = example.expected or example.reference
    cells = [example.input, *([given] if given else []), example.output]
    cells += [f"{example.score:g}", example.why]
    return "| " + " | ".join(_cell(str(cell)) for cell in cells) + " |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
