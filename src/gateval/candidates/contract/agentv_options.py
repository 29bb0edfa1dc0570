"""The keys of the runtime `agentv`, as manifests have them; `plan` reads these and runs nothing."""

from __future__ import annotations

from pydantic import Field

from gateval.domain.base import Spec


class AgentvOptions(Spec):
    """The keys of `agentv` beyond the shared ones; `command` is none of them."""

    line: str = Field(
        min_length=1,
        max_length=4_000,
        description="The command line, for a shell: `{PROMPT}` stands for the question, "
        "`{PROMPT_FILE}` for a file that holds it, `{FILES}` for the files of the case, "
        "`{OUTPUT_FILE}` for the file that takes the answer; without it, the answer is printed.",
    )
    files_format: str | None = Field(
        default=None,
        max_length=500,
        description="How each file stands in `{FILES}`: `--file {path}`, with `{basename}` for its "
        "name. Default: its path.",
    )
