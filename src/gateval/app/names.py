"""Names of the files that a run leaves; `app/run/views.py` names those of its views."""

RESULTS_FILE = "results.v1.json"
EVIDENCE_FILE = "results.v1.json.age"
DECISION_FILE = "decision.v1.json"
PLAN_FILE = "plan.v1.json"
PART_FILE = "part.v1.json"
TRIALS_FILE = "trials.jsonl"
TRIGGER_FILE = "trigger.v1.json"
RUN_FILE = "run.v1.json"
CALIBRATIONS_FILE = "calibrations.v1.json"

RUN_IS = (
    "A run is named by its id, as the folders of .gateval/results are called, or by the path of "
    "its folder or of its results.v1.json."
)
"""How every command takes a run, for a hint."""
