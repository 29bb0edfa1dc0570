"""Tools of programs, answered from the fixture: the gate's MCP server, and what it records."""
