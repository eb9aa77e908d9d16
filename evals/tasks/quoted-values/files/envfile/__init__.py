from envfile.load import load
from envfile.parse import EnvError, parse

__all__ = ["EnvError", "load", "parse"]
