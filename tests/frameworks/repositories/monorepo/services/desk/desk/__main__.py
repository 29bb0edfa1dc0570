import json
import sys

from desk.loop import answer

if __name__ == "__main__":
    request = json.load(sys.stdin)
    print(answer(request["question"]))
