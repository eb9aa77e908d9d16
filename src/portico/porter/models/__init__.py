"""Models: one interface over every provider and the offline model, with keys, prices and budgets."""
