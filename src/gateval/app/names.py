"""Names of the files that a run leaves beside its views."""

PLAN_FILE = "plan.v1.json"
TRIALS_FILE = "trials.jsonl"
TRIGGER_FILE = "trigger.v1.json"
