"""Perceptual fairness: can every instance of a suite be seen? Measured, asked of a model, and read by people."""
