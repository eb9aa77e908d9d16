"""Owns how an agent's writes reach the disk: overlays, proposals, branches, worktrees and checkpoints."""
