"""Owns the loop: asks the model, does what it asks for, tells it what came of that, until it is done."""
