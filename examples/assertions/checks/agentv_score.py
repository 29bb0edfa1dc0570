"""A code judge as AgentV runs them: the trial on standard input, a score on standard output."""

import json
import sys

trial = json.load(sys.stdin)
hit = trial["reference_answer"] in trial["candidate_answer"]
print(
    json.dumps(
        {
            "score": 1.0 if hit else 0.0,
            "hits": ["has the number"] if hit else [],
            "misses": [] if hit else ["has another number"],
            "reasoning": "compared with the reference",
            "details": {"units": trial["config"]["units"]},
        }
    )
)
