"""Text of files: lines, diffs, hunks, patches, merges and change sets. Pure."""
