"""SimpleAgent: one question to a vision model, then a fixed pick and place."""
