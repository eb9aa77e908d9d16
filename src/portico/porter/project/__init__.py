"""Detection of a project's test runners, formatters and linters from its files."""
