"""Is the statistics as good as it says? Simulated runs beside the bars and a peer's rule."""
