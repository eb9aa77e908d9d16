"""The evaluation tasks, one module each."""
