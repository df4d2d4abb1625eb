"""Metrics of what agents say and hear about colours and shapes."""
