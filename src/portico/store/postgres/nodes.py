"""Nodes as rows of the database. Who is alive is decided by the clock of the database."""

import secrets

import msgspec

from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.domain.ids import SessionId
from portico.domain.nodes import NodeDescription, NodeRecord, SessionOwner
from portico.sessions.leases import session_lease_name
from portico.store.postgres import queries
from portico.store.postgres.connection import Connection, DatabaseConnection
from portico.store.postgres.leases import lease_key
from portico.store.postgres.migrations import require_known_schema

_FIND = "SELECT owner, home, extract(epoch FROM now() - seen_at) FROM nodes WHERE name = %s FOR UPDATE"
_JOIN = """
    INSERT INTO nodes (name, owner, home, about, sessions, draining, drained, seen_at)
    VALUES (%s, %s, %s, %s, 0, false, false, now())
    ON CONFLICT (name) DO UPDATE SET owner = EXCLUDED.owner, home = EXCLUDED.home, about = EXCLUDED.about,
        sessions = 0, draining = false, drained = false, seen_at = now()
"""
_FREE_LEASES = "UPDATE leases SET owner = '', holder = '' WHERE owner = %s"
_BEAT = """
    UPDATE nodes SET seen_at = now(), sessions = %s, drained = draining AND %s
    WHERE name = %s AND owner = %s RETURNING draining
"""
_LEAVE = "UPDATE nodes SET seen_at = '-infinity', sessions = 0 WHERE name = %s AND owner = %s"
_ALL = (
    "SELECT about, sessions, draining, drained, extract(epoch FROM now() - seen_at) FROM nodes ORDER BY name"
)
_OWNER = "SELECT node, owner <> '' AND expires_at >= now() FROM leases WHERE name = %s"
_HELD = "SELECT name FROM leases WHERE name = ANY(%s) AND owner <> '' AND expires_at >= now()"


class DatabaseNodes:
    """The nodes of a database. A node is alive until it was silent for `seconds`."""

    def __init__(self, connection: DatabaseConnection, owner: str, *, seconds: float) -> None:
        self.seconds = seconds
        self._connection = connection
        self._owner = owner

    async def join(self, about: NodeDescription, home: str) -> None:
        """Register this process as a node. InvalidInput while another process is the node of this name.

        A process of the same `home`, of which there is one at a time, is known to be gone, and its leases are free.
        """

        async def work(connection: Connection) -> None:
            await require_known_schema(connection)
            row = await (await connection.execute(_FIND, (about.name,))).fetchone()
            if row is not None:
                owner, former_home, silent = row
                if former_home == home:
                    await connection.execute(_FREE_LEASES, (owner,))
                elif owner != self._owner and float(silent) < self.seconds:
                    raise InvalidInput(
                        f"Node {about.name} is running already, on another machine or for another user.",
                        suggestion="Choose another --node, or stop that one first.",
                    )
            await connection.execute(_JOIN, (about.name, self._owner, home, msgspec.json.encode(about)))

        await self._connection.run(work)

    async def beat(self, name: str, sessions: int, *, drained: bool) -> bool | None:
        """Tell that the node lives; whether it should drain. None if another process is the node now."""
        values = (sessions, drained, name, self._owner)
        row = await self._connection.run(lambda one: _first(one, _BEAT, values))
        return None if row is None else bool(row[0])

    async def leave(self, name: str) -> None:
        await self._connection.run(lambda one: _execute(one, _LEAVE, (name, self._owner)))

    async def all(self) -> list[NodeRecord]:
        async def work(connection: Connection) -> list[NodeRecord]:
            found = []
            for about, sessions, draining, drained, silent in await (
                await connection.execute(_ALL)
            ).fetchall():
                found.append(
                    NodeRecord(
                        about=codecs.decode_json(bytes(about), NodeDescription),
                        sessions=sessions,
                        draining=draining,
                        drained=drained,
                        alive=float(silent) < self.seconds,
                        silent_seconds=float(silent),
                    )
                )
            return found

        return await self._connection.run(work)

    async def set_draining(self, name: str, *, draining: bool) -> None:
        """InvalidInput if there is no such node."""
        query = "UPDATE nodes SET draining = %s, drained = false WHERE name = %s"
        if not await self._connection.run(lambda one: _execute(one, query, (draining, name))):
            known = ", ".join(node.name for node in await self.all())
            raise InvalidInput(f'Unknown node "{name}".', suggestion=f"Nodes: {known or 'none'}.")

    async def forget(self, name: str) -> None:
        """Remove a node that is gone for good."""
        await self._connection.run(lambda one: _execute(one, "DELETE FROM nodes WHERE name = %s", (name,)))

    async def owner_of(self, session_id: SessionId) -> SessionOwner:
        key = lease_key(session_lease_name(session_id))
        row = await self._connection.run(lambda one: _first(one, _OWNER, (key,)))
        return SessionOwner("", False) if row is None else SessionOwner(str(row[0]), bool(row[1]))

    async def orphans(self) -> list[SessionId]:
        """Sessions in the middle of a turn that no process has open."""

        async def work(connection: Connection) -> list[SessionId]:
            active = await queries.active_sessions(connection)
            keys = {lease_key(session_lease_name(one)): one for one in active}
            rows = await (await connection.execute(_HELD, (list(keys),))).fetchall() if keys else []
            held = {bytes(name) for (name,) in rows}
            return [one for key, one in keys.items() if key not in held]

        return await self._connection.run(work)

    async def secret(self) -> str:
        """The secret by which nodes know each other; the first node makes it."""

        async def work(connection: Connection) -> str:
            insert = "INSERT INTO cluster (id, secret) VALUES (1, %s) ON CONFLICT (id) DO NOTHING"
            await connection.execute(insert, (secrets.token_urlsafe(32),))
            row = await _first(connection, "SELECT secret FROM cluster WHERE id = 1", ())
            assert row is not None
            return str(row[0])

        return await self._connection.run(work)


async def _first(connection: Connection, query: str, values: tuple[object, ...]) -> tuple[object, ...] | None:
    return await (await connection.execute(query.encode(), values)).fetchone()


async def _execute(connection: Connection, query: str, values: tuple[object, ...]) -> int:
    return (await connection.execute(query.encode(), values)).rowcount
