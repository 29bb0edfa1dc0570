"""Attacks by what is answered, and through the gateway."""

from __future__ import annotations

from tests.hostile.attacks.attack import Attack

ASK = '''
import http.client, urllib.parse
BASE = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
KEY = os.environ["OPENAI_API_KEY"]
QUESTION = {"model": "gpt-test", "messages": [{"role": "user", "content": "hello"}]}

def call(path="/chat/completions", body=QUESTION, method="POST", key=KEY, absolute=None, **headers):
    """Return status and body of one call through the gateway."""
    line = http.client.HTTPConnection(BASE.hostname, BASE.port, timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    line.request(method, absolute or BASE.path + path, json.dumps(body) if body is not None else None,
                 {"Authorization": "Bearer " + key, "Content-Type": "application/json", **named})
    reply = line.getresponse()
    return reply.status, reply.read(100_000) + repr(reply.getheaders()).encode()

def went_through(result):
    return result[0] < 400 or b"canary" in result[1]
'''

ANSWERING = (
    Attack("closes-early", "os._exit(0)", ends="empty"),
    Attack("does-not-read", "os.close(0); nothing()"),
    Attack("binary-answer", "os.write(1, bytes(range(256)) * 64); nothing()"),
    Attack("deep-json", "print('{\"output\": ' + '[' * 100_000 + ']' * 100_000 + '}')", either=True, ends=""),
    Attack("two-outputs", "print('{\"output\": \"a\", \"output\": \"nothing reached\"}')", ends="ambiguous"),
    Attack("endless-trace", """
        step = {"type": "tool_call", "tool": "t", "arguments": {}}
        print(json.dumps({"output": "nothing reached", "trace": [step] * 15_000}))
    """, either=True, ends=""),
    Attack("catastrophic-answer", "print('a' * 60_000 + '!'); nothing()"),
    Attack("catastrophic-schema", """
        text = {"nothing reached": "a" * 20_000 + "!", "deep": [[[0] * 20] * 20] * 20}
        print(json.dumps({"output": json.dumps(text)}))
    """, either=True, ends=""),
    Attack("other-endpoints", ASK + """
for path in ("/models", "/models/gpt-other", "/files", "/fine_tuning/jobs", "/../v1/models", "/chat/completions/../../models", "/assistants"):
    for method in ("GET", "DELETE", "POST"):
        if (path, method) != ("/models", "GET"):
            attempt(path, lambda: call(path, None if method == "GET" else QUESTION, method), went_through)
attempt("the account's models", lambda: call("/models", None, "GET"), lambda r: r[1].count(b'"id"') != 1)
nothing()
"""),
    Attack("other-hosts", ASK + """
for target in ("http://169.254.169.254/latest/meta-data/", "http://example.com/elsewhere", "//evil.example/v1"):
    attempt(target, lambda: call(absolute=target), went_through)
attempt("host header", lambda: call("/files", method="GET", body=None, Host="169.254.169.254"), went_through)
attempt("proxying", lambda: call(absolute="169.254.169.254:80", method="CONNECT", body=None), went_through)
nothing()
"""),
    Attack("errors-that-hold-the-key", ASK + """
for word in ("echo-the-key", "redirect"):
    question = {**QUESTION, "messages": [{"role": "user", "content": word}]}
    attempt(word, lambda: call(body=question), lambda r: b"canary" in r[1] or b"metadata" in r[1])
nothing()
""", ends="the key is refused"),
    Attack("keys-of-others", ASK + """
import base64
for key in ("", "x", KEY[:-1], KEY + "x", KEY.upper(), "sk-" + "0" * 40, KEY[::-1]):
    attempt("key", lambda: call(key=key), went_through)
nothing()
"""),
    Attack("flood", ASK + """
def many():
    for _ in range(20):
        try: call()
        except OSError: pass
threads = [threading.Thread(target=many) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
nothing()
""", either=True, ends=""),
    Attack("closes-mid-stream", ASK + """
import struct
question = {**QUESTION, "stream": True, "messages": [{"role": "user", "content": "long-stream"}]}
for hard in (False, True) * 8:
    line = http.client.HTTPConnection(BASE.hostname, BASE.port, timeout=10)
    line.request("POST", BASE.path + "/chat/completions", json.dumps(question),
                 {"Authorization": "Bearer " + KEY, "Content-Type": "application/json"})
    held, first = line.sock, line.getresponse().read(20)
    assert first.startswith(b"data:"), first
    if hard: held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    held.close()
nothing()
"""),
    Attack("half-requests", ASK + """
held = []
for n in range(100):
    line = socket.create_connection((BASE.hostname, BASE.port))
    line.send(b"POST " + BASE.path.encode() + b"/chat/completions HTTP/1.1\\r\\nContent-Length: 999999999\\r\\n")
    held.append(line)
detach(lambda: time.sleep(int(HOUR)))
nothing()
""", either=True, ends=""),
    Attack("huge-body", ASK + """
attempt("huge body", lambda: call(body={**QUESTION, "user": "x" * (30 << 20)}), lambda r: r[0] < 400)
nothing()
"""),
    Attack("after-the-end", ASK + """
def later():
    time.sleep(1)
    for _ in range(5): call()
detach(later)
nothing()
"""),
)  # fmt: skip
