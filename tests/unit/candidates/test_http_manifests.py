"""What `validate` says of a runtime `http` that is written wrongly: sentence, line and column."""

from __future__ import annotations

import pytest

from gateval.app.readers import registries
from gateval.formats.native.manifests import read_manifests

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata:
  name: a
spec:
  runtime:
    type: http
    command: [serve, "{port}"]
    ready: {path: /healthz, timeoutSeconds: 5}
    request:
      path: /chat
      body: {message: "{{ prompt }}"}
    response: {output: $.reply}
    instances: 2
"""

CASES = [
    ('    command: [serve, "{port}"]\n', "", "7:5: spec.runtime: A runtime of type http needs `command`: the program that is the agent, and its arguments."),
    ("      path: /chat\n", "", "11:7: spec.runtime.request: say where the server is asked: `path`, or `preset`"),
    ("path: /chat", "preset: ag-ui\n      method: PUT", "spec.runtime.request: a `preset` is sent by POST"),
    ("path: /chat", "preset: ag_ui", "spec.runtime.request.preset: "),
    ('    request:\n      path: /chat\n      body: {message: "{{ prompt }}"}\n', "", '6:3: spec.runtime.request: The required key "request" is missing.'),
    ("instances", "instance", 'spec.runtime.instance: Unknown key "instance". Did you mean "instances"?'),
    ("timeoutSeconds", "timeoutSecond", '9:29: spec.runtime.ready.timeoutSecond: Unknown key "timeoutSecond". Did you mean "timeoutSeconds"?'),
    ("body: {", "boddy: {", '12:7: spec.runtime.request.boddy: Unknown key "boddy". Did you mean "body"?'),
    ("instances: 2", "instances: 0", "14:16: spec.runtime.instances: "),
    ("instances: 2", "restart: always", '14:14: spec.runtime.restart: '),
    ("{{ prompt }}", "{{ promt }}", "12:13: spec.runtime.request.body: `body.message`: a template does not know `promt`"),
    ("{{ prompt }}", "{{ prompt", "12:13: spec.runtime.request.body: `body.message`: the template cannot be read"),
    ("$.reply", "reply", "13:24: spec.runtime.response.output: no JSONPath of RFC 9535"),
    ("{output: $.reply}", "{trace: $.t}", "spec.runtime.response: `trace` and `usage` need `output`"),
    ("path: /chat", "path: chat", "11:13: spec.runtime.request.path: a path begins with one `/`"),
    ("path: /chat", "path: //evil.example/x", "11:13: spec.runtime.request.path: a path begins with one `/`"),
    ("path: /chat", "path: http://evil.example/x", "11:13: spec.runtime.request.path: a path begins with one `/`"),
    ("path: /chat", "path: /chat\n      method: GET", "spec.runtime.request: a GET request has no body"),
    ("path: /chat", "path: /chat\n      headers: {Host: evil.example}", "12:16: spec.runtime.request.headers: `Host` belongs to the connection"),
    ("body: {", "form: {list: [1], ", "12:20: spec.runtime.request.form.list: "),
    ("{message: \"{{ prompt }}\"}", "{}\n      form: {text: x}", "spec.runtime.request: a `form` is all of a body"),
    ("body: {message: \"{{ prompt }}\"}", "form: {text: \"{{ promt }}\"}", "`form.text`: a template does not know `promt`"),
    ("body: {message: \"{{ prompt }}\"}", "method: GET\n      form: {text: x}", "spec.runtime.request: a GET request has no body"),
    ("path: /chat", "path: '/chat/{{ begun.chat.id }}'", "11:7: spec.runtime.request: a template names `begun.chat`, which no request before it gives (before it: none); write it under `begin`"),
    ("path: /chat", "path: /chat\n      begin: {chat: {path: '/{{ begun.user.id }}'}, user: {path: /u}}", "`begin.chat` names `begun.user`, which no request before it gives (before it: none)"),
    ("path: /chat", "path: \"/chat/{{ begun['chat'].id }}\"", "a template names `begun.chat`, which no request before it gives"),
    ("path: /chat", "path: '/chat/{{ begun }}'", "a template names `begun`, which no request before it gives"),
    ("path: /chat", "path: /chat\n      begin: {chat: {path: /c, body: [{a: \"{{ prompt }}{{ begun['user']['id'] }}\"}]}, user: {path: /u}}", "`begin.chat` names `begun.user`, which"),
    ("path: /chat", "path: /chat\n      begin: {chat: {}}", "spec.runtime.request.begin.chat: say where the server is asked: `path`"),
    ("path: /chat", "path: /chat\n      begin: {chat: {path: /c, method: GET, body: 1}}", "begin.chat: a GET request has no body"),
    ("path: /chat", "path: /chat\n      begin: {my-chat: {path: /c}}", "spec.runtime.request.begin.my-chat: "),
    ("path: /chat", 'path: /chat\n      headers: {"X\\r\\nY": "1"}', "cannot name a header"),
]  # fmt: skip


def _problems(text: str) -> list[str]:
    found = read_manifests("a.yaml", text.encode(), registries()).problems
    return [str(problem).removeprefix("a.yaml:") for problem in found]


FINE = [
    "path: /chat",
    "path: '/chat/{{ input.payload.begun.id }}'",
    "path: \"/chat/{{ 'begun.x' }}\"",
    "path: \"/chat/{{ begun['a'].id }}{{ begun | tojson }}\"\n      begin: {a: {path: /a}}",
]


@pytest.mark.parametrize("path", FINE)
def test_it_is_fine_as_it_stands(path: str) -> None:
    assert _problems(AGENT.replace("path: /chat", path)) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"), CASES, ids=[f"{index}" for index in range(len(CASES))]
)
def test_what_is_wrong_is_told_with_its_place(old: str, new: str, expected: str) -> None:
    assert old in AGENT
    told = _problems(AGENT.replace(old, new))
    assert len(told) == 1, told
    assert expected in told[0]
