"""Models and baselines of digits and their motions (VN Fig. 5); the playground of digits."""
