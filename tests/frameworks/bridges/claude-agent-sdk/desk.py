from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool


@tool("order_status", "The status of an order.", {"order": int})
async def order_status(arguments):
    return {"content": [{"type": "text", "text": "in transit"}]}


options = ClaudeAgentOptions(
    model="claude-sonnet-4-5",
    system_prompt="You answer questions about orders. Look the order up first.",
    mcp_servers={"desk": create_sdk_mcp_server("desk", tools=[order_status])},
    allowed_tools=["mcp__desk__order_status"],
    setting_sources=[],
)
