"""Figures, drawn with matplotlib: the same panels for the page (SVG that follows its colours) and for papers."""
