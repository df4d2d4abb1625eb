"""What works on this machine, and the one line that fixes what does not."""
