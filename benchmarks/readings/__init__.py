"""Specification curves: what a text leaves open, and in which of its readings a statement holds."""
