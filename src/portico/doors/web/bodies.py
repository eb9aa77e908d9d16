"""A request's body with an end: a caller that sends more is refused before the rest is read."""

from portico.doors.web.asgi import Answer, Message, Receive
from portico.doors.web.guard import too_large


class BoundedBody:
    """Stands between a server and an app. Beyond the limit the app is told that its caller has left."""

    def __init__(self, receive: Receive, answer: Answer, limit: int, *, in_grpc: bool) -> None:
        self._receive = receive
        self._answer = answer
        self._in_grpc = in_grpc
        self._limit = self._left = limit
        self._refused = False

    async def receive(self) -> Message:
        if self._refused:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left >= 0:
            return message
        self._refused = True
        if not self._answer.started:
            await too_large(self._limit).tell(self._answer, in_grpc=self._in_grpc)
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if not self._refused:
            await self._answer(message)
