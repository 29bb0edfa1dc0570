"""Anthropic's Messages, streamed too."""
