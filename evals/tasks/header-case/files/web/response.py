"""A response of a server."""

import json

from web.headers import Headers


class NotJson(Exception):
    pass


class Response:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = Headers(headers)
        self.body = body

    @property
    def media_type(self):
        return self.headers.get("Content-Type", "").partition(";")[0].strip()

    def json(self):
        if self.media_type != "application/json":
            raise NotJson(self.media_type or "no type")
        return json.loads(self.body)
