"""Working copies: trees of their own for sessions in proposal and worktree mode, created, kept up to date
and scanned for changes.
"""
