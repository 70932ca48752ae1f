"""The claim of FR App. F.2."""
