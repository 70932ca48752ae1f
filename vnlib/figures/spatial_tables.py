"""Tables and sentences of spatial decoding in full (VN App. F)."""
