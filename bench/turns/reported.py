# SPDX-License-Identifier: Apache-2.0
"""The tables of a report, read back from its Markdown: what is drawn is what is written."""

import re
from dataclasses import dataclass

FIGURE = re.compile(r"(-?[\d,.]+)(?: \((-?[\d,.]+)–(-?[\d,.]+)\))?$")


@dataclass(frozen=True)
class Figure:
    median: float
    least: float
    most: float


def figure(text):
    """None: nothing was measured."""
    found = FIGURE.match(text)
    if not found:
        return None
    median, least, most = (float(part.replace(",", "")) if part else None
                           for part in found.groups())  # fmt: skip
    return Figure(median, median if least is None else least, median if most is None else most)


class Table:
    def __init__(self, title, columns):
        self.title, self.columns, self.rows = title, columns, {}

    def add(self, cells):
        self.rows[cells[0]] = cells[1:]

    def of(self, row, column):
        if row not in self.rows or column not in self.columns:
            return None
        return figure(self.rows[row][self.columns.index(column)])


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def sections(lines):
    """{heading: {title of a table: Table}}, of the headings with ###."""
    found, tables, table = {}, None, None
    for line in lines:
        if line.startswith("#"):
            tables = found.setdefault(line[4:], {}) if line.startswith("### ") else None
        if not line.startswith("|"):
            table = None
        elif tables is not None and not line.startswith("|---"):
            title, *columns = cells_of(line)
            if table is None:
                table = tables.setdefault(title, Table(title, columns))
            else:
                table.add([title, *columns])
    return found


def self_check():
    lines = ["# Page", "### One", "| a | b | c |", "|---|---:|---:|", "| r | 1,234 (1–2,000.5) | – |",
             "", "## Other", "| a | b |"]
    told = sections(lines)
    assert list(told) == ["One"] and list(told["One"]) == ["a"]
    assert told["One"]["a"].of("r", "b") == Figure(1234, 1, 2000.5)
    assert told["One"]["a"].of("r", "c") is None and told["One"]["a"].of("s", "b") is None
