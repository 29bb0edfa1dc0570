"""Writes what a judge is asked: it gets the case on standard input and prints the prompt."""

import json
import sys

case = json.load(sys.stdin)
tone = case["config"]["tone"]
print(f"Is this a {tone} answer to the question {case['question']!r}: {case['candidate_answer']}?")
print(f"A good one: {case['expected_outcome']}")
