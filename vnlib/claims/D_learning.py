"""The claims of VN App. D: slow local learning."""
