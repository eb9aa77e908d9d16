"""Git: the hardened program, facts about a repository, and private git folders without its config."""
