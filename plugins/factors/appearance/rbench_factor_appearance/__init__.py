"""Object colour: the 141 named colours."""
