"""People read what a validation asks them: who reads what, what they said, how far they agree, and the page for it."""
