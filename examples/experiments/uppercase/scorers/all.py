"""A scorer of one's own."""

from gateval.checks import Trial, check


@check
def dummy_relevance(trial: Trial) -> float:
    return min(len(trial.prompt) / len(trial.output), 1) if trial.output else 0.0
