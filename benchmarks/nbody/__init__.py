"""Models and baselines of bodies under mixtures of forces, and how they are measured (VN
Fig. 4).
"""
