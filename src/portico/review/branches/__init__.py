"""Branch mode and the commits that bring work back: session branches, filtered files, submodules, worktree
merges.
"""
