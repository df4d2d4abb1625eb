"""Running: plan, episode, executors."""
