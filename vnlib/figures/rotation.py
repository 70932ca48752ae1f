def summary(results): return "x"
