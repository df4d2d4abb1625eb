"""Plugin host: discovery without import, loading one by one, the catalog."""
