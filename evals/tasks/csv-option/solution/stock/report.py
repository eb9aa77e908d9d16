"""The stock as a table, or as CSV."""

import csv
import io


def table(items):
    width = max((len(item.name) for item in items), default=0)
    return [f"{item.name:<{width}}  {item.count:>5}  {item.place}" for item in items]


def csv_lines(items):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("name", "count", "place"))
    writer.writerows((item.name, item.count, item.place) for item in items)
    return text.getvalue().splitlines()


FORMATS = {"table": table, "csv": csv_lines}
