"""Git as review needs it: the program, facts about the person's repository, uncommitted work as commits."""
