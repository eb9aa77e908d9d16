"""Tools of a project: how its files say to build, test and format it, and what their output means."""
