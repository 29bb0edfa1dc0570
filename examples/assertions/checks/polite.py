"""A check of one's own in Python: how polite an answer is."""

from gateval.checks import Result, Trial, check

KIND = ("please", "thank", "sorry", "happy to")


@check
def is_polite(trial: Trial) -> Result:
    """Every second kind word counts; after a refund, the answer has to say sorry."""
    text = trial.output.lower()
    found = [word for word in KIND if word in text]
    refunds = trial.calls("refund_order")
    if refunds and "sorry" not in found:
        reason = "a refund without an apology"
        return Result(score=0, reason=reason, steps=[step["number"] for step in refunds])
    wanted = trial.vars.get("words", 1)
    return Result(score=min(1.0, len(found) / wanted), reason=f"the kind words {found}")
