"""Scores an answer by the number of days that it names."""

import json
import sys

told = json.load(sys.stdin)
wanted = str(told["sidecar"]["days"])
named = wanted in told["candidate_answer"]
print(json.dumps({"score": float(named), "hits": [wanted] if named else [], "misses": []}))
