"""MOKA: a vision model plans, chooses keypoints among marks, and a phase policy moves."""
