"""Contacts, read from rows."""

from dataclasses import dataclass

from contacts.reader import MissingColumn, rows


class ImportFailed(Exception):
    pass


@dataclass(frozen=True)
class Contact:
    name: str
    mail: str


def read_contacts(data):
    """Return the contacts in a file."""
    try:
        return [_contact(line, row) for line, row in rows(data, ("name", "mail"))]
    except UnicodeDecodeError as error:
        raise ImportFailed("the file is not UTF-8") from error
    except MissingColumn as error:
        raise ImportFailed(f"the column {error} is missing") from error


def _contact(line, row):
    if row["name"] is None or row["mail"] is None:
        raise ImportFailed(f"line {line} is too short")
    return Contact(row["name"].strip(), row["mail"].strip())
