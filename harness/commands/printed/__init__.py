"""What commands print: tables of results, summaries, budgets, and what the matrix resolves to."""
