"""The configuration of the app, read from an ini file."""

from configparser import ConfigParser, Error
from dataclasses import dataclass

LEVELS = ("debug", "info", "warning", "error")


class ConfigError(Exception):
    pass


@dataclass(frozen=True)
class Config:
    host: str = "localhost"
    port: int = 8080
    level: str = "info"
    retries: int = 2


def parse(text):
    parser = ConfigParser()
    try:
        parser.read_string(text)
    except Error as error:
        raise ConfigError(str(error)) from error
    level = parser.get("log", "level", fallback=Config.level)
    if level not in LEVELS:
        raise ConfigError(f"log.level must be one of {', '.join(LEVELS)}")
    return Config(
        host=parser.get("network", "host", fallback=Config.host),
        port=_number(parser, "network", "port", Config.port, range(1, 65536)),
        level=level,
        retries=_number(parser, "network", "retries", Config.retries, range(11)),
    )


def _number(parser, section, name, default, allowed):
    try:
        value = parser.getint(section, name, fallback=default)
    except ValueError as error:
        raise ConfigError(f"{section}.{name} must be a number") from error
    if value not in allowed:
        raise ConfigError(f"{section}.{name} must be between {allowed[0]} and {allowed[-1]}")
    return value
