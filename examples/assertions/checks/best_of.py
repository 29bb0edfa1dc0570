"""An aggregator: the best score among the members is that of the whole."""

import json
import sys

results = json.load(sys.stdin)["results"]
print(json.dumps({"score": max(one["score"] for one in results.values())}))
