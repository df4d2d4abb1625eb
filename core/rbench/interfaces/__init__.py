"""The contract: what a plugin implements. One page an interface, readable in ten minutes."""
