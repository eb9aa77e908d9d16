"""Owns the budgets: measures Portico beside others in one run, and says which budgets are met."""
