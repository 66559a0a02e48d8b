"""The questions: totals and groups, cohorts, credit, paths, spend."""
