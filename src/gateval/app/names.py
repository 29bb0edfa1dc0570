"""Names of the files that a run leaves; `app/run/views.py` names those of its views."""

RESULTS_FILE = "results.v1.json"
EVIDENCE_FILE = "results.v1.json.age"
PLAN_FILE = "plan.v1.json"
TRIALS_FILE = "trials.jsonl"
TRIGGER_FILE = "trigger.v1.json"
RUN_FILE = "run.v1.json"
CALIBRATIONS_FILE = "calibrations.v1.json"
