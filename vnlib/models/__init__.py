"""Models of single benchmarks, built from the parts of the Vector Network."""
