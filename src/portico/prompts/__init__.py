"""The prompt catalog: finding, reading and rendering prompt files."""
