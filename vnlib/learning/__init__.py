"""Slow learning: the rules by which atoms change, and the learner that applies them."""
