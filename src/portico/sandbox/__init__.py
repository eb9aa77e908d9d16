"""Owns the confinement of programs by the kernel: what they may read, write and reach."""
