"""People and devices that call a server, and what their roles allow."""

from typing import Literal

import msgspec

Role = Literal["owner", "collaborator", "viewer"]
ROLES: tuple[Role, ...] = ("owner", "collaborator", "viewer")


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The person or device behind a call. Without `workspaces` it may see those of all folders."""

    name: str = ""
    """The name in the log; empty for the user of this machine."""
    role: Role = "owner"
    workspaces: tuple[str, ...] = ()
    device_id: str = ""

    def may_see(self, workspace: str) -> bool:
        return not self.workspaces or workspace in self.workspaces


THIS_USER = Caller()
"""The user of this machine, whose programs know the token of the server."""
