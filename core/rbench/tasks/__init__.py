"""Tasks: goal predicates as pure functions on a WorldState, and success that is confirmed."""
