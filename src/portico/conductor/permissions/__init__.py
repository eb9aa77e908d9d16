"""Owns permission requests: policy, rules, grants, decisions, and the broker that applies them."""
