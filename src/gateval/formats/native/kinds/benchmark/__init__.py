"""The kind `Benchmark`: what people write, and how it is read."""
