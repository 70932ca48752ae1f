"""Vector Networks: sparse inference over libraries of rank-1 weight atoms, and local learning of
the atoms.
"""
