"""The built-in agent loop: model, system prompt and tools, run by the gate itself."""
