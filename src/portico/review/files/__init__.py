"""Changes to a folder on disk: all of a change or none of it, whatever fails or is killed in the middle."""
