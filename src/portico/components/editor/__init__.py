"""Owns the editor component: files and terminals of this machine, for editors that offer none."""
