"""The draft and the queued prompts of a session.

Drafts are not part of the log: they change with every key, and only what was sent is an event.
"""

from msgspec import Raw

from portico.domain.values import Value


class QueuedPrompt(Value, frozen=True):
    """A prompt in line. If it was sent, the log says so somewhere behind `after_seq`."""

    prompt_id: str
    text: str
    blocks: tuple[Raw, ...] = ()
    after_seq: int = 0


class SessionDraft(Value, frozen=True):
    """`client_id` names who wrote the draft last. Each change has a greater `revision`.

    `pinned` keeps the session at the top of lists.
    """

    draft: str = ""
    client_id: str = ""
    queue: tuple[QueuedPrompt, ...] = ()
    revision: int = 0
    pinned: bool = False

    @property
    def drafted(self) -> bool:
        return bool(self.draft.strip())

    @property
    def empty(self) -> bool:
        return not self.drafted and not self.queue and not self.pinned
