"""The model loop: asks the model, runs the tools it calls, and repeats until the turn ends."""
