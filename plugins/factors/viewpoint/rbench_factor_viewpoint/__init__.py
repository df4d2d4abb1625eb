"""Camera pose, Euler angles and distance."""
