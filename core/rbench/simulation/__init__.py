"""The MuJoCo world: compile, cameras, rendering, control."""
