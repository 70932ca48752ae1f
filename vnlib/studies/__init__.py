"""Measurements that a chapter stores: each takes tensors and settings and returns a dataset."""
