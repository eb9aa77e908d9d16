"""What a project's own files say about it: how it is tested, formatted and linted."""
