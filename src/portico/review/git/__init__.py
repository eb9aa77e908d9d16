"""Owns a person's repository as review needs it: the git program, branches, worktrees, work kept as commits."""
