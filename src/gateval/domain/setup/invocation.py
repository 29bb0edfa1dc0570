"""How a question reaches a program: the values that say it, and the names by which it is told."""

from __future__ import annotations

from typing import NamedTuple

PROMPT = "{{ prompt }}"
QUESTION = "prompt|question|message|query|input|text|ask|task"

MESSAGES = "messages"
"""The key of a whole conversation, a list of roles and texts."""

ASKED = (*QUESTION.split("|"), "content", "user_input", "user_message", MESSAGES)
QUESTIONS = ("prompts", "questions", "queries", "tasks")
"""Lists of them."""

TOPICS = ("topic", "goal", "idea", "subject", "theme", "request")
"""What a request is about, where nothing in it is called a question."""

ANSWERED = ("answer", "reply", "response", "output", "text", "message", "result", "content")


class Begin(NamedTuple):
    """A request that begins a conversation, with its body as JSON. What it gives is `chat`."""

    route: str
    body: str
    headers: tuple[tuple[str, str], ...] = ()


class Invocation(NamedTuple):
    """How a question reaches a program.

    `words` follow the program's name. `stdin` is a template, None for the gate's JSON. A server has
    `route`, `field` and `answer`: the path it is asked at, the key of the question in the body, and
    that of the answer in the response ("" for the whole); `body` is all of the body as JSON, where
    it holds more. `preset` is the protocol that it speaks, which says all but the path. `file` is
    one that it can be asked about, where its question is the path of one. `sure` is False where the
    text of the program did not tell. `method` is "" for POST, `headers` are those that it demands.
    `begin` comes before it and `begun` is the path of one whose answer is not known, `login` says
    that it wants what a login gives. `form` says that the body is sent as a form, `stream` which
    kind of stream it answers with, `answer` then the key of each event. `env` are variables that
    its process has to have, as for a key among `headers`. `later` says of a handler, with its
    file, that it answers only that it began or how it went. `left` are fields of files that the
    body may have and does not. `pieces` says that it streams in a way that is not known,
    `shown` are keys of the body whose values a README shows. `variable` is the one of its
    environment that holds the question, which its command sets to its input.
    """

    words: tuple[str, ...] = ()
    stdin: str | None = None
    route: str = ""
    field: str = ""
    answer: str = ""
    sure: bool = True
    body: str = ""
    preset: str = ""
    file: str = ""
    method: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    begin: Begin | None = None
    begun: str = ""
    login: bool = False
    form: bool = False
    stream: str = ""
    env: tuple[tuple[str, str], ...] = ()
    later: str = ""
    pieces: bool = False
    shown: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    variable: str = ""
