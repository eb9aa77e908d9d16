from dataclasses import dataclass


@dataclass
class Settings:
    timeout: int = 10
    retries: int = 3
