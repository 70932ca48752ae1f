"""How fast the settle is, beside what others would use: peers, problems, timing, and tables as datasets.

`python -m benchmarks.speed --help` runs them all; the chapter C_inference calls the same functions.
"""
