"""Reports: summary, tables, figures."""
