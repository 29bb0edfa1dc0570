"""Prompts of GitHub Models: `*.prompt.yml`.

Source: https://docs.github.com/en/github-models/use-github-models/storing-prompts-in-github-repositories
The gate's own loop tells the model the messages of the system, and asks what a fixture says:
`gateval import prompt-yml` makes fixtures of `testData`, in which the user's message is filled in.
So that message counts as a part of the agent, and `testData` does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from gateval.formats.definitions.base import (
    Definition,
    Source,
    models_of,
    objects,
    text_of,
    without,
)

_NO_MODEL = "It names no model, or one whose provider the gate does not know."


def read(source: Source) -> Iterator[Definition]:
    """Return the prompt of a file."""
    keys = source.mapping
    if not isinstance(keys.get("messages"), list):
        raise source.refused("This is no prompt of GitHub Models: it has no `messages`.")
    said = [
        (text_of(one.get("role")), text_of(one.get("content"))) for one in objects(keys["messages"])
    ]
    models = models_of(text_of(keys.get("model")))
    system = [text for role, text in said if role in {"system", "developer"}]
    yield Definition(
        name=source.path.rpartition("/")[2].partition(".prompt.")[0],
        place=source.key_place("messages"),
        models=models,
        system="\n\n".join(text.strip() for text in system),
        root=source.folder,
        runtime={"type": "model"} if models else None,
        refusal=_NO_MODEL,
        means=without(keys, "name", "testData", "evaluators", "messages") | {"messages": [
            f"{role}: {text}" for role, text in said]},
    )  # fmt: skip
