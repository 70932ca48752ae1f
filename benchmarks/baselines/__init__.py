"""What baselines of several benchmarks share; none of it knows the Vector Network."""
