"""Each reply of a conversation has a name of its own: clients keep one reply of each name."""

from __future__ import annotations

import pytest

from gateval.domain.trials.model_call import Message, ModelReply, ModelRequest, ToolCall
from gateval.wire.registry import WIRE_FORMATS


def asked(*texts: str) -> ModelRequest:
    messages = tuple(Message(role="user", text=text) for text in texts)
    return ModelRequest(model="m", messages=messages)


@pytest.mark.parametrize("name", ["openai-chat", "anthropic-messages"])
def test_replies_of_a_conversation_have_names_of_their_own(name: str) -> None:
    call = ToolCall(id="c1", name="look_up", arguments={})
    told = [
        (ModelReply(tool_calls=(call,)), asked("a")),
        (ModelReply(text="b"), asked("a", "c1")),
        (ModelReply(text="b"), asked("a", "c1", "b", "a")),
    ]
    bodies = [WIRE_FORMATS[name].encode_reply(*one) for one in told]
    ids = {body.split(b'"id":"', 1)[1].split(b'"', 1)[0] for body in bodies}
    assert len(ids) == len(told)
    assert bodies == [WIRE_FORMATS[name].encode_reply(*one) for one in told]
