"""Reads rows from the bytes of a CSV file."""

import csv
import io


class MissingColumn(Exception):
    pass


def rows(data, columns):
    """Return the line and the fields of each row that is not empty. Raises MissingColumn."""
    text = data.decode("utf-8-sig")
    head = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text), delimiter=";" if head.count(";") > head.count(",") else ",")
    reader.fieldnames = [name.strip().lower() for name in reader.fieldnames or ()]
    for column in columns:
        if column not in reader.fieldnames:
            raise MissingColumn(column)
    return [(reader.line_num, row) for row in reader if any(row.values())]
