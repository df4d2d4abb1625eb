"""Object position, object shape and instruction."""
