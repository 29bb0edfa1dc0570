"""How outputs, arguments and tool calls are compared, shared by assertions."""
