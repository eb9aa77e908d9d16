"""Review of changes: proposals, checkpoints, working copies, branches and worktrees, and how they reach the
disk.
"""
