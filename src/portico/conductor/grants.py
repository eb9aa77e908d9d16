"""Grants that an agent was given and has not used: each is good for having the client do it once."""

from portico.conductor.deeds import Deed

_MOST = 64


class Grants:
    def __init__(self) -> None:
        self._unused: dict[str, list[Deed]] = {}

    def add(self, session_id: str, deed: Deed) -> None:
        unused = self._unused.setdefault(session_id, [])
        unused.append(deed)
        del unused[:-_MOST]

    def use(self, session_id: str, deed: Deed) -> bool:
        """Whether this was granted; the grant is used up then."""
        unused = self._unused.get(session_id, [])
        found = next((grant for grant in unused if _includes(grant, deed)), None)
        if found is not None:
            unused.remove(found)
        return found is not None

    def forget(self, session_id: str) -> None:
        self._unused.pop(session_id, None)


def _includes(grant: Deed, deed: Deed) -> bool:
    same_commands = {one.text for one in grant.commands} == {one.text for one in deed.commands}
    return same_commands and set(grant.paths).issuperset(deed.paths)
