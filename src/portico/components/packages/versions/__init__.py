"""Owns the versions of packages in a workspace: lockfiles, manifests and installed packages."""
