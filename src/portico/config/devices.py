"""Paired devices, and pairing codes that wait for one, in a file of the state folder.

The file has hashes only. The server and `portico pair` share it, so a pairing needs no call, and a revoked device is
refused as soon as the file has changed.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from portico.domain import codecs
from portico.domain.errors import InvalidInput, StoreFailed
from portico.domain.people import Caller, Role
from portico.files.private import private_change, replace_private

CODE_SECONDS = 300
_CODE_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_CODE_LENGTH = 16
_LONGEST_NAME = 80

_Result = TypeVar("_Result")


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """A paired device. `secret` is the hash of what it was given."""

    device_id: str
    name: str
    role: Role
    workspaces: tuple[str, ...] = ()
    secret: str
    paired_at: int

    @property
    def caller(self) -> Caller:
        return Caller(name=self.name, role=self.role, workspaces=self.workspaces, device_id=self.device_id)


class PairingOffer(msgspec.Struct, frozen=True, kw_only=True):
    """A device that may pair with a code until a time. `code` is its hash."""

    code: str
    name: str
    role: Role
    workspaces: tuple[str, ...] = ()
    expires_at: int


class _Content(msgspec.Struct, frozen=True, kw_only=True):
    devices: tuple[Device, ...] = ()
    offers: tuple[PairingOffer, ...] = ()


class DeviceFile:
    """The file of devices. It is read again only when it has changed."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "devices.json"
        self._seen: tuple[object, _Content] | None = None

    def devices(self) -> tuple[Device, ...]:
        return self._read().devices

    def offer(self, *, name: str, role: Role, workspaces: tuple[str, ...], now_ms: int) -> str:
        """Make a code with which one device can pair once, within a few minutes."""
        code = "".join(secrets.choice(_CODE_ALPHABET) for _ in range(_CODE_LENGTH))
        offer = PairingOffer(
            code=_hash(code),
            name=name,
            role=role,
            workspaces=workspaces,
            expires_at=now_ms + CODE_SECONDS * 1000,
        )

        def add(content: _Content) -> tuple[_Content, None]:
            waiting = [one for one in content.offers if one.expires_at > now_ms]
            return msgspec.structs.replace(content, offers=(*waiting, offer)), None

        self._change(add)
        return code

    def pair(self, code: str, *, name: str, now_ms: int) -> str | None:
        """Use a code; the token of the new device, or None if the code is wrong, old or used.

        `name` is what the device calls itself, for an offer without a name.
        """
        hashed, device_id, secret = _hash(code), secrets.token_hex(4), secrets.token_urlsafe(32)

        def use(content: _Content) -> tuple[_Content, PairingOffer | None]:
            found = next((one for one in content.offers if hmac.compare_digest(one.code, hashed)), None)
            if found is None:
                return content, None
            offers = tuple(one for one in content.offers if one is not found)
            if found.expires_at <= now_ms:
                return msgspec.structs.replace(content, offers=offers), None
            device = Device(
                device_id=device_id,
                name=(found.name or name or "Device")[:_LONGEST_NAME],
                role=found.role,
                workspaces=found.workspaces,
                secret=_hash(secret),
                paired_at=now_ms,
            )
            return _Content(devices=(*content.devices, device), offers=offers), found

        if not any(hmac.compare_digest(one.code, hashed) for one in self._read().offers):
            return None
        return None if self._change(use) is None else f"{device_id}.{secret}"

    def find(self, token: str) -> Caller | None:
        """The caller with this token, unless its device was revoked."""
        device_id, _, secret = token.partition(".")
        hashed = _hash(secret)
        for device in self._read().devices:
            if device.device_id == device_id and hmac.compare_digest(device.secret, hashed):
                return device.caller
        return None

    def is_paired(self, device_id: str) -> bool:
        return any(device.device_id == device_id for device in self._read().devices)

    def revoke(self, named: str) -> Device:
        """Remove a device, by its ID or its name. InvalidInput if there is not exactly one."""

        def remove(content: _Content) -> tuple[_Content, Device]:
            found = [one for one in content.devices if named in (one.device_id, one.name)]
            if len(found) != 1:
                known = ", ".join(f"{one.device_id} ({one.name})" for one in content.devices) or "none"
                problem = "several devices are called" if found else "no device is called"
                raise InvalidInput(f'{problem.capitalize()} "{named}".', suggestion=f"Devices: {known}.")
            left = tuple(one for one in content.devices if one is not found[0])
            return msgspec.structs.replace(content, devices=left), found[0]

        return self._change(remove)

    def _read(self) -> _Content:
        try:
            status = self._path.stat()
            mark = (status.st_mtime_ns, status.st_ino, status.st_size)
            if self._seen is None or self._seen[0] != mark:
                self._seen = mark, codecs.decode_json(self._path.read_bytes(), _Content)
        except FileNotFoundError:
            return _Content()
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise StoreFailed(
                f"{self._path} cannot be read: {error}.",
                suggestion="Remove it, and pair your devices again.",
            ) from error
        return self._seen[1]

    def _change(self, change: Callable[[_Content], tuple[_Content, _Result]]) -> _Result:
        with private_change(self._path):
            content, result = change(self._read())
            replace_private(self._path, msgspec.json.format(msgspec.json.encode(content), indent=2))
        return result


def _hash(secret: str) -> str:
    """Codes and secrets are random and long enough, so a plain hash keeps them."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
