"""Success rate, bias coefficient and interaction effect coefficient."""
