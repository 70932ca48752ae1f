"""The claims of VN App. C: fast inference."""
