"""The offline model: its file, its download, and the local endpoint that runs it."""
