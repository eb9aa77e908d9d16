"""Git as review needs it: files as git sees them, uncommitted work as commits, differences of trees."""
