"""Models, baselines, training and geometry of the plane of positions (VN Fig. 2, FR)."""
