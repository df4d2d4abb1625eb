"""Agents and policies in other environments: the wire, the client's end, the serving side."""
