"""Forms of data sets, one a file: how a demonstration is written, and what is written when all are there."""
