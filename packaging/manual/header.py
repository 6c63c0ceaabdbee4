# SPDX-License-Identifier: Apache-2.0
"""A public header, read: groups of blocks, each a comment and what it is about.

The build runs this with what Debian's python3-minimal has: no dataclasses."""

import re
import textwrap

TITLE = re.compile(r"/\* -{5,} (\S.*?)(?: \*/)?$")
GROUP_COLUMNS = 75  # a title that ends farther left is that of a part of a group
BEFORE_ALL = re.compile(r"uvzk\w*_H$|UVZK_EXTERN$", re.I)
ENDS = {"(": ")", "{": "}"}

FUNCTION = re.compile(r"UVZK_EXTERN\s+(.*?)(\w+)\((.*)\)\s*;", re.S)
CALLBACK = re.compile(r"typedef\s+(.*?)\(\*(\w+)\)\((.*)\)\s*;", re.S)
MACRO = re.compile(r"#define\s+(\w+)(\([^)]*\))?")


class Item:
    """What is declared in one piece."""

    def __init__(self, kind, name, text, result="", parameters=()):
        self.kind = kind  # function, callback, call (a macro like one), macro, type
        self.name = name
        self.text = text
        self.comment = ""  # behind it, on its line
        self.result = result  # of a function or a callback
        self.parameters = parameters  # (type, name) of each

    def is_handle(self):
        return self.text.startswith("struct")

    def is_forward(self):
        return self.kind == "type" and "{" not in self.text


class Block:
    """A comment, and the items that stand below it without an empty line between."""

    def __init__(self, comment=""):
        self.comment = comment
        self.items = []


class Group:
    def __init__(self, title, text="", example=""):
        self.title, self.text, self.example = title, text, example
        self.parts = []  # Group, of those with a title of their own
        self.blocks = []

    def all_blocks(self):
        return self.blocks + [block for part in self.parts for block in part.blocks]


class Header:
    def __init__(self, name, text, groups):
        self.name = name
        self.text = text  # its first comment
        self.groups = groups

    def blocks(self):
        return [block for group in self.groups for block in group.all_blocks()]

    def items(self):
        return [item for block in self.blocks() for item in block.items]


def plain(comment):
    """Without what makes it a comment."""
    body = re.sub(r"^/\*+ ?|\s*\*/$", "", comment)
    return re.sub(r"^ *\* ?", "", body, flags=re.M).strip("\n")


def terms(part):
    """[(term, meaning)] of a paragraph of `Term    what it means` with the meanings in one
    column; none of any other."""
    first = re.match(r"(\S+ {2,})\S", part)
    found = []
    for line in part.split("\n") if first else ():
        term, meaning = line[: len(first[1])], line[len(first[1]) :]
        if term.strip() and not re.match(r"\S+ +$", term):
            return []
        if term.strip():
            found.append([term.strip(), meaning])
        else:
            found[-1][1] += " " + meaning
    return found


def parameters(text):
    """[(type, name)] of a list; commas inside of parentheses are those of a function's type."""
    depth, parts, part = 0, [], ""
    for letter in " ".join(text.split()):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    found = []
    for part in [*parts, part]:
        pointer = re.match(r"(.*?\(\*)(\w+)(\).*)$", part.strip())
        plain_one = re.match(r"(.*?)(\w+)(\[\])?$", part.strip())
        match = pointer or plain_one
        if part.strip() == "void":
            continue
        found.append((match[1].strip() + (match[3] or "" if pointer else match[3] or ""), match[2]))
    return found


def declared(text):
    """The item that this text declares."""
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for kind, pattern in (("function", FUNCTION), ("callback", CALLBACK)):
        found = pattern.match(bare)
        if found and "{" not in bare:
            result = " ".join(found[1].split())
            return Item(kind, found[2], text, result=result, parameters=parameters(found[3]))
    found = MACRO.match(text)
    if found:
        return Item("call" if found[2] and found[1].islower() else "macro", found[1], text,
                    parameters=[("", name) for name in re.findall(r"\w+", found[2] or "")])  # fmt: skip
    names = re.findall(r"}\s*(\w+)\s*;", bare) or re.findall(r"(?:struct|enum)\s+(\w+)\s*{", bare)
    return Item("type", names[-1] if names else re.findall(r"(\w+)\s*;", bare)[-1], text)


def end_of(text, start):
    """Behind the declaration that begins there: its semicolon, or the macro's last line."""
    if text[start] == "#":
        return re.compile(r"(?:\\\n|[^\n])*").match(text, start).end()
    depth, here = 0, start
    while text[here] != ";" or depth > 0:
        if text.startswith("/*", here):
            here = text.index("*/", here) + 1
        depth += (text[here] in ENDS) - (text[here] in ENDS.values())
        here += 1
    return here + 1


def tokens(text):
    """(what, text, whether an empty line is before it, whether it begins its line)"""
    here = 0
    while True:
        space = re.compile(r"\s*").match(text, here)
        here = space.end()
        if here == len(text):
            return
        if text.startswith("/*", here):
            end, what = text.index("*/", here) + 2, "comment"
        elif text.startswith(('extern "C"', "}"), here):
            end, what = text.index("\n", here), "brace"
        else:
            end, what = end_of(text, here), "item"
        yield what, text[here:end], space[0].count("\n") > 1, "\n" in space[0] or here == 0
        here = end


def add_group(groups, comment):
    first, _, rest = plain(comment).partition("\n")
    title = TITLE.match(comment.split("\n", maxsplit=1)[0])[1]
    example = "\n".join(line for line in rest.split("\n") if line.startswith("    ") or not line)
    text = "\n".join(line for line in rest.split("\n") if not line.startswith("    "))
    group = Group(title, text.strip("\n"), textwrap.dedent(example).strip("\n"))
    is_part = len(comment.split("\n", maxsplit=1)[0]) < GROUP_COLUMNS and groups
    (groups[-1].parts if is_part else groups).append(group)
    return group


def read(name, text):
    groups, block, head = [Group("")], None, None
    into = groups[0]
    for what, piece, empty_line, begins in tokens(text):
        if what == "comment" and TITLE.match(piece.split("\n", maxsplit=1)[0]):
            into, block = add_group(groups, piece), None
        elif what == "comment" and piece.startswith("/* SPDX-"):
            continue
        elif what == "comment" and head is None:
            head = plain(piece)
        elif what == "comment" and not begins and block and block.items:
            block.items[-1].comment = plain(piece)
        elif what == "comment":
            block = Block(plain(piece))
            into.blocks.append(block)
        elif what == "item" and piece.startswith("#") and not MACRO.match(piece):
            block = None
        elif what == "item" and not BEFORE_ALL.match(declared(piece).name):
            if block is None or (empty_line and (block.items or block.comment)):
                block = Block()
                into.blocks.append(block)
            block.items.append(declared(piece))
    return Header(name, head or "", [group for group in groups if group.title or group.blocks])
