"""The output of commands: tables of results, summaries, budgets and the resolved matrix."""
