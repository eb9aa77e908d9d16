"""Owns the evaluation: small repository tasks with checks that run, and scripted models that solve them."""
