"""AgentV's evaluators as assertions: one file for each group of types, one table of all types."""
