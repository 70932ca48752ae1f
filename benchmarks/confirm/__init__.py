"""Confirmation: what is fixed before test data are drawn, what was predicted, and what came of it."""
