# SPDX-License-Identifier: Apache-2.0
"""Text of a header's comments, and declarations, as roff of the macros man(7)."""

import re
import textwrap

import header

NAME = re.compile(r"\b(uvzk_\w+\b(?!\()|uvzk_\w+(?=\()|UVZK_[A-Z]\w*|UV_E[A-Z]\w*)")
BOLD_CODES = r"\\fBUV\w+\\fP(?:(?:, | or )\\fBUV\w+\\fP)*"
WIDTH = 78


def escaped(text):
    return text.replace("\\", "\\e")


def first_column(line):
    """No request, whatever it begins with."""
    return "\\&" + line if line.startswith((".", "'")) else line


def filled(text):
    lines = textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    return [first_column(line) for line in lines]


def words(text, pages):
    """Running text, filled, a sentence about a code on a line of its own. `pages`: names that
    have a page of this section."""

    def told(match):
        return f"\\fB{match[1]}\\fP" + ("(3)" if match[1] in pages else "")

    text = NAME.sub(told, escaped(" ".join(text.split())))
    text = re.sub(r"(?<!\w)`([^`]+)`", r"\\fI\1\\fP", text)
    text = text.replace("(3)(", "(").replace("\\fP(3)()", "\\fP()")
    parts = re.split(rf"(?<=[.;]) (?=(?:0|{BOLD_CODES})(?: \([^()]*\))?:)", text)
    return [line for number, part in enumerate(parts) for line in [".br"] * (number > 0) + filled(part)]


def code(text):
    """As it stands."""
    lines = escaped(text).replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    lines = lines.replace("^", "\\(ha").replace("~", "\\(ti")
    return [".EX", *(first_column(line) for line in lines.split("\n")), ".EE"]


def indented(lines):
    return [".RS 4", *lines, ".RE"]


def paragraphs(text, pages):
    """Of a comment: filled text, what stands indented as it stands, and lists of terms."""
    lines = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        whole = textwrap.dedent(part)
        if part.startswith("   "):
            lines += [".PP", *indented(code(whole))]
        elif header.terms(part):
            for term, meaning in header.terms(part):
                lines += [".TP", *words(term, ()), *words(meaning, pages)]
        else:
            lines += [".PP", *words(part, pages)]
    return lines


def prototype(item):
    """A function's or a callback's, its parameters in italics, in lines that fit."""
    if item.kind == "call":
        shown = ", ".join(f"\\fI{name}\\fP" for _, name in item.parameters)
        return [f"\\fB{item.name}(\\fP{shown}\\fB);\\fP"]
    head = f"{item.result} {item.name}(".replace("* ", "*")
    if item.kind == "callback":
        head = f"typedef {item.result} (*{item.name})(".replace("* (", "*(")
    indent, lines, line = " " * len(head), [], head
    shown = [bold_type(kind, name) for kind, name in item.parameters] or ["\\fBvoid\\fP"]
    for index, parameter in enumerate(shown):
        parameter += "\\fB" + (");" if index == len(shown) - 1 else ",") + "\\fP"
        if len(seen(line)) + len(seen(parameter)) > WIDTH and line.strip() != head.strip():
            lines.append(line.rstrip())
            line = indent if len(indent) < 40 else " " * 8
        line += parameter + " "
    return [f"\\fB{head}\\fP" + one[len(head) :] if number == 0 else one
            for number, one in enumerate([*lines, line.rstrip()])]  # fmt: skip


def seen(text):
    return re.sub(r"\\f.", "", text)


def bold_type(kind, name):
    if "(*)" in kind:  # a pointer to a function
        return f"\\fB{kind.replace('(*)', '(*' + name + ')')}\\fP"
    kind = re.sub(r" \*$", " *", kind)
    if kind.endswith("[]"):
        return f"\\fB{kind[:-2]} \\fI{name}\\fB[]\\fP"
    return f"\\fB{kind}{'' if kind.endswith('*') else ' '}\\fI{name}\\fP"
