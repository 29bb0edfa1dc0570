"""The way to real providers: addresses, keys, retries, faults. The only HTTP client for models."""
