"""Web access of the fetch tool: addresses, pages and their text."""
