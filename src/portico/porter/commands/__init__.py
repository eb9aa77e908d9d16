"""Owns Porter's commands: one file each, all in one table. A command is an async function of a turn and its argument."""
