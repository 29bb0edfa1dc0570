"""What a person says of an answer in an experiment, written into its feedback file."""

from __future__ import annotations

from gateval.adapters.folders import write_whole
from gateval.adapters.git.repository import GitRepository
from gateval.adapters.machine import SystemClock
from gateval.app.guard import LINE_LIMIT
from gateval.app.readers import valid_snapshot
from gateval.domain.problems import InvalidManifests
from gateval.domain.results.results import Results
from gateval.domain.trials.trial import Side
from gateval.errors import UsageError
from gateval.formats.native.feedback_file import feedback_file, feedback_line, with_feedback
from gateval.pipeline.read import find_head
from gateval.safe.sanitize import plain_line


def add_feedback(
    repository: GitRepository,
    results: Results,
    fixture: str,
    *,
    repetition: int,
    up: bool,
    note: str,
) -> list[str] | None:
    """Add a line about head's answer in a repetition of `EVAL/FIXTURE`, and return what was done;
    None where the Eval is no experiment that has such a file.

    Raises `UsageError` where there is no answer, or the file would not be read with that line.
    """
    evaluation, _, name = fixture.rpartition("/")
    planned = next((one for one in results.plan.evals if one.own_name == evaluation), None)
    snapshot = valid_snapshot(repository, find_head(repository, None))
    known = snapshot.catalogue.eval(evaluation)
    if planned is None or known is None:
        return None
    path = feedback_file(known, (repository.root / known.path).read_bytes())
    if not path:
        return None
    trial = next(
        (
            one
            for one in results.trials
            if (one.key.eval, one.key.fixture) == (planned.name, name)
            and (one.key.side, one.key.repetition) == (Side.HEAD, repetition)
        ),
        None,
    )
    if trial is None or not trial.output or trial.output_truncated:
        raise UsageError(f"There is no whole answer of repetition {repetition} to say anything of.")
    line = feedback_line(planned.fixture(name), up=up, output=trial.output, note=note)
    line |= {"who": repository.who(), "when": SystemClock().utc_now()}
    file = repository.root / path
    before = file.read_bytes()
    write_whole(file, with_feedback(path, before, line))
    try:
        valid_snapshot(repository, find_head(repository, None))
    except InvalidManifests as error:
        write_whole(file, before)
        raise UsageError(
            f"{path} would not be read with that line: {error.problems[0]}",
            hint="Nothing was changed.",
        ) from error
    word = "up" if up else "down"
    return [plain_line(f"{path}: thumbs {word} for the answer to {name}.", LINE_LIMIT)]
