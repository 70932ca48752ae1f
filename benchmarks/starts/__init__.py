"""Learned starts for the settle: models, training, measures."""
