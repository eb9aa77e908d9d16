"""Search in the workspace: files, text and symbols."""
