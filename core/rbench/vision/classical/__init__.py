"""Classical colour and shape vision: what the embedded vision model sees with."""
