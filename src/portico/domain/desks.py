"""What lies ready to be sent in a session: the words being written, and the prompts that wait their turn.

A desk is not part of the log: it changes with every key, and only what was sent is a fact.
"""

from portico.domain.events import Value


class Attachment(Value, frozen=True):
    """Something sent along with a prompt: a file of the workspace, or bytes of the person's own."""

    name: str
    mime_type: str = ""
    path: str | None = None
    data: bytes | None = None


class QueuedPrompt(Value, frozen=True):
    prompt_id: str
    text: str
    attachments: tuple[Attachment, ...] = ()


class Desk(Value, frozen=True):
    """`client_id` names who wrote the draft last. Each change has the next `revision`."""

    draft: str = ""
    client_id: str = ""
    queue: tuple[QueuedPrompt, ...] = ()
    revision: int = 0

    @property
    def empty(self) -> bool:
        return not self.draft.strip() and not self.queue
