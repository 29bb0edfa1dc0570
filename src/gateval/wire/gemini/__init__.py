"""Google's own formats, as its SDK speaks them: https://ai.google.dev/api."""
