"""Figures of spatial decoding in full (VN App. F)."""
