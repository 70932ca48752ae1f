"""The claims of VN App. E: the theory."""
