"""Source code for programs that ask a model without a library: importing one takes most of a trial."""

from __future__ import annotations

ASK = """\
import json, os, socket
def ask(model, text):
    _, _, place, path = os.environ["OPENAI_BASE_URL"].split("/", 3)
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": text}]})
    with socket.create_connection(place.split(":")) as line:
        line.sendall((
            f"POST /{path}/chat/completions HTTP/1.0\\r\\nHost: {place}\\r\\n"
            f"Authorization: Bearer {os.environ['OPENAI_API_KEY']}\\r\\n"
            f"Content-Type: application/json\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n{body}"
        ).encode())
        head, _, said = line.makefile("rb").read().partition(b"\\r\\n\\r\\n")
    if head.split()[1] != b"200":
        raise SystemExit(head.decode() + said.decode())
    return json.loads(said)["choices"][0]["message"]["content"]
"""
"""`ask(MODEL, TEXT)` says what the model answers, and ends the program if it does not."""
