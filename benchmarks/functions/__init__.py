"""Models and baselines that draw signals and fill in what is hidden of them (VN Fig. 3)."""
