"""OpenAI's formats: Chat Completions and Responses, streamed too."""
