# SPDX-License-Identifier: Apache-2.0
"""The report as an HTML page, with its pictures."""

import html
import urllib.parse

import pictures

STYLE = """:root{color-scheme:light dark}body{font:15px/1.45 sans-serif;max-width:76em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;font-size:13px;margin:1em 0}td,th{border:1px solid #8888;
padding:2px 8px;text-align:right}td:first-child,th:first-child{text-align:left}
img{max-width:100%;height:auto}"""


def as_html(lines):
    """Of the Markdown that markdown.py and beside.py write: headings, pictures, tables,
    paragraphs."""
    drawn = pictures.drawn(lines)
    out, in_table = [], False
    for line in lines:
        if line.startswith("|---"):
            continue
        if line.startswith("| "):
            cells = [html.escape(cell.strip()) for cell in line.strip("|").split(" | ")]
            tag = "td" if in_table else "th"
            out.append(("" if in_table else "<table>") + "<tr>" +
                       "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>")
            in_table = True
            continue
        if in_table:
            out.append("</table>")
            in_table = False
        if line.startswith("### "):
            out.append(f"<h2>{html.escape(line[4:])}</h2>")
            # Its style is its own, so it is shown as a document.
            picture = drawn.get(pictures.name_of(line[4:]))
            if picture:
                out.append(f'<img src="data:image/svg+xml,{urllib.parse.quote(picture)}" alt="">')
        elif line and not line.startswith("!["):
            out.append(f"<p>{html.escape(line)}</p>")
    return out + (["</table>"] if in_table else [])


def write(path, lines):
    path.write_text("\n".join(
        ["<!doctype html><html lang=en><meta charset=utf-8><title>uvzk: performance</title>",
         f"<style>{STYLE}</style><h1>uvzk: performance</h1>", *as_html(lines), "</html>"]) + "\n")
