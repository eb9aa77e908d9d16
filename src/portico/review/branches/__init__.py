"""Owns branch and worktree mode: where a session works in a repository, and how its work comes home."""
