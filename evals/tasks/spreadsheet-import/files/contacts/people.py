"""Contacts, read from rows."""

from dataclasses import dataclass

from contacts.reader import rows


class ImportFailed(Exception):
    pass


@dataclass(frozen=True)
class Contact:
    name: str
    mail: str


def read_contacts(data):
    """Return the contacts in a file."""
    return [Contact(row["name"].strip(), row["mail"].strip()) for row in rows(data)]
