"""Review through attached editor windows: unsaved text is read, and files are changed as editor edits."""
