"""Baselines: one file per family, none of which knows the Vector Network; decoders by name in
`registry`.
"""
