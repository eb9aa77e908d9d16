"""The tools Porter offers to a model, one file each."""
