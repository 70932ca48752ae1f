"""The claims of VN App. B: attention and the Vector Network."""
