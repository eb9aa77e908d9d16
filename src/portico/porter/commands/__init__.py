"""Porter's slash commands, one file each."""
