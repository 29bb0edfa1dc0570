"""What GitHub and its workflows hand over: inputs, events, workflow files."""
