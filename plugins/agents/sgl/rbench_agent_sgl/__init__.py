"""SGL, the semantic grounding layer: the instruction in terms of what is in the picture."""
