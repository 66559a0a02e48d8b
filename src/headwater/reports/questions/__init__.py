"""The questions that reports answer: totals and groups, cohorts, credit, paths, spend."""
