"""Models: one interface over every provider, the offline model, keys, prices and budgets."""
