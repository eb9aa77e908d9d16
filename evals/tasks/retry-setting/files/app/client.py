"""A client that tries again when a connection breaks."""

RETRIES = 5


class Client:
    def __init__(self, config, send):
        self._address = (config.host, config.port)
        self._send = send

    def request(self, words):
        """Send a request; the last failure is raised if every attempt fails."""
        for attempt in range(RETRIES + 1):
            try:
                return self._send(self._address, words)
            except ConnectionError:
                if attempt == RETRIES:
                    raise
