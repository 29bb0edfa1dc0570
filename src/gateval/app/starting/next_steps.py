"""What `init` says last: what a person does next, in the order that it is done."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.ruling import GateLabel
from gateval.domain.setup.labels import FIX, making
from gateval.domain.setup.starter import Sketch
from gateval.render.files.starter import LAYERS_KEY, eval_name


def next_steps(
    chosen: Sketch | None,
    catalogue: Catalogue,
    keys: Sequence[str],
    addresses: Sequence[str],
    *,
    born: bool,
    labels: Sequence[GateLabel] | None,
    layers: bool,
) -> str:
    """Return what to do next, as numbered lines.

    `born` when the branch has a commit; `labels` are those of the gate's that the repository on
    GitHub lacks, None where nobody knows; `layers` when an Agent has a set-up that can be kept.
    """
    steps = []
    if chosen is not None:
        name = eval_name(chosen, [one.name for one in catalogue.evals])
        steps += [
            "Make the fixture a question that matters to you, and say what must hold.",
            f"Try it:  gateval validate && gateval run {name}",
        ]
    steps += [f"Let the workflow have the key:  gh secret set {key}" for key in keys]
    steps += [
        f"Say where the model's server is:  export {name}=URL here, gh variable set {name} there"
        for name in addresses
    ]
    if layers:
        steps.append(
            f"Let CI keep set-ups, signed:  openssl rand -hex 32 | gh secret set {LAYERS_KEY}"
        )
    if labels is None or labels:
        unless = ", unless it has them" if labels is None else ""
        made = "".join(f"\n     {making(label)}" for label in labels or GateLabel)
        steps.append(f"Make the gate's labels on GitHub{unless}:  {FIX}, or{made}")
    if not born:
        steps.append("Commit this first: a change is compared with a commit, and there is none.")
    push = "Commit, push," if born else "Push it,"
    steps += [
        f"{push} and open a pull request that changes the Agent.",
        "Require the check `gateval` (not the job) in the rules of the branch.",
        "See what is still missing:  gateval doctor",
    ]
    lines = [f"{number}. {step}\n" for number, step in enumerate(steps, 1)]
    if chosen and chosen.others:
        more = ", ".join(chosen.others)
        lines.append(f"Without an Eval still: {more}. `gateval init` again takes the next.\n")
    return "\nNext:\n" + "".join(lines)
