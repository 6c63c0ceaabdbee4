# SPDX-License-Identifier: Apache-2.0
"""The project's documents, and the blocks of code in them."""

import re
import textwrap

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
INDENTED = re.compile(r"(?<=\n\n)((?: {4}.*\n|\n(?= {4}))+)")


def documents(project):
    """(path, text) of every one, without what is built."""
    for path in sorted(project.glob("**/*.md")):
        name = path.relative_to(project)
        if not str(name).startswith(("build", "docs/api")):
            yield path, path.read_text()


def fenced(text):
    """[(language, body)]"""
    return FENCED.findall(text)


def indented(text):
    """Bodies of blocks that stand four columns in, and not in a list."""
    return [textwrap.dedent(body) for body in INDENTED.findall(FENCED.sub("", text))]
