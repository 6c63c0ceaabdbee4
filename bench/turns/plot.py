# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG, readable on a light and on a dark page, and at half their width."""

import html
import math

WIDTH, LEFT, RIGHT, LINE = 640, 78, 150, 20
SIZE = 15  # of the text
# For a light page, for a dark one.
INK, PAPER, GRID, QUIET = ("#1f2328", "#e6edf3"), ("#ffffff", "#0d1117"), ("#d8dee4", "#30363d"), (
    "#59636e", "#9198a1")  # fmt: skip


def style(colours):
    def rules(which):
        rule = [f"text{{fill:{INK[which]}}}", f".paper{{fill:{PAPER[which]}}}",
                f".grid{{stroke:{GRID[which]}}}", f".quiet{{fill:{QUIET[which]}}}"]
        for name, pair in colours.items():
            rule.append(f".{name}{{stroke:{pair[which]};fill:{pair[which]}}}")
            rule.append(f"text.{name}{{stroke:none}}")
        return "".join(rule)

    return (f"<style>text{{font:{SIZE}px sans-serif}}.title{{font-weight:bold}}.line{{fill:none}}"
            f".end{{text-anchor:end}}.middle{{text-anchor:middle}}.thin{{stroke-width:1.5;opacity:.6}}"
            f".thick{{stroke-width:2.5}}.dashed{{stroke-dasharray:6 5}}{rules(0)}"
            f"@media(prefers-color-scheme:dark){{{rules(1)}}}</style>")  # fmt: skip


def number(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def text(x, y, words, classes=""):
    of_class = f' class="{classes}"' if classes else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{of_class}>{html.escape(words)}</text>'


def stroke(x1, y1, x2, y2, classes):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{classes}"/>'


def dot(x, y, classes):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="{classes}"/>'


class Scale:
    """Logarithmic, between the powers of ten around the values."""

    def __init__(self, values, begin, end):
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        self.begin, self.end = begin, end

    def at(self, value):
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.begin + part * (self.end - self.begin)

    def decades(self):
        return [10**power for power in range(self.low, self.high + 1)]


def apart(places, least, top, bottom):
    """Moves places in their order until they are so far from each other."""
    order = sorted(places, key=places.get)
    for index, name in enumerate(order):
        places[name] = max(places[name], top if index == 0 else places[order[index - 1]] + least)
    for index, name in enumerate(reversed(order)):
        after = order[len(order) - index] if index else None
        places[name] = min(places[name], places[after] - least if after else bottom)
    return places


class Lines:
    """A line for each program over the number of something, with the spread of each point, and
    with its name at its end."""

    height = 280

    def __init__(self, title, across, series):
        self.title, self.across = title, across
        self.series = {name: points for name, points in series.items() if points}

    def is_empty(self):
        return not self.series

    def svg(self, top, names, dashed):
        every = [point for points in self.series.values() for point in points]
        bottom = top + self.height - 2.6 * LINE
        up = Scale([value for _, of in every for value in (of.least, of.most)], bottom, top + 2 * LINE)
        xs = sorted({x for x, _ in every})
        step = (WIDTH - RIGHT - LEFT - 30) / max(len(xs) - 1, 1)
        across = {x: LEFT + 15 + index * step for index, x in enumerate(xs)}
        out = [text(8, top + SIZE, self.title, "title")]
        for value in up.decades():
            out.append(stroke(LEFT, up.at(value), WIDTH - RIGHT, up.at(value), "grid"))
            out.append(text(LEFT - 8, up.at(value) + 5, number(value), "end quiet"))
        for x in xs:
            out.append(text(across[x], bottom + LINE, number(x), "middle quiet"))
        out.append(text((LEFT + WIDTH - RIGHT) / 2, bottom + 2 * LINE, self.across, "middle quiet"))
        for name, points in self.series.items():
            out += self.line(name, points, across, up, dashed)
        ends = {name: up.at(points[-1][1].median) for name, points in self.series.items()}
        for name, y in apart(ends, LINE * 0.9, top + 2 * LINE, bottom).items():
            out.append(text(WIDTH - RIGHT + 6, y + 5, names[name], name))
        return out

    def line(self, name, points, across, up, dashed):
        out = []
        path = " ".join(f"{across[x]:.1f},{up.at(of.median):.1f}" for x, of in points)
        kind = "line thick dashed" if name in dashed else "line thick"
        out.append(f'<polyline points="{path}" class="{name} {kind}" style="fill:none"/>')
        for x, of in points:
            out.append(stroke(across[x], up.at(of.least), across[x], up.at(of.most), f"{name} thin"))
            out.append(dot(across[x], up.at(of.median), name))
        return out


class Spans:
    """A row for each program, from its p50 to its p99."""

    def __init__(self, title, across, rows):
        """rows: {name: (p50, p99)}"""
        self.title, self.across = title, across
        self.rows = {name: pair for name, pair in rows.items() if pair[0] is not None}
        self.height = (len(self.rows) + 4.5) * LINE

    def is_empty(self):
        return not self.rows

    def svg(self, top, names, _):
        values = [of.median for pair in self.rows.values() for of in pair if of]
        left, first = 158, top + 2.2 * LINE
        along = Scale(values, left, WIDTH - 90)
        bottom = first + len(self.rows) * LINE
        out = [text(8, top + SIZE, self.title, "title")]
        for value in along.decades():
            out.append(stroke(along.at(value), first - LINE * 0.7, along.at(value), bottom, "grid"))
            out.append(text(along.at(value), bottom + LINE, number(value), "middle quiet"))
        out.append(text((left + WIDTH - 90) / 2, bottom + 2 * LINE, self.across, "middle quiet"))
        for index, (name, (middle, most)) in enumerate(self.rows.items()):
            y = first + index * LINE
            out.append(text(left - 10, y + 5, names[name], f"{name} end"))
            if most is not None:
                out.append(stroke(along.at(middle.median), y, along.at(most.median), y, f"{name} thick"))
                out.append(stroke(along.at(most.median), y - 6, along.at(most.median), y + 6,
                                  f"{name} thick"))
            out.append(dot(along.at(middle.median), y, name))
            out.append(text(WIDTH - 80, y + 5, number(middle.median), "quiet"))
        return out


def self_check():
    scale = Scale([20, 900], 0, 100)
    assert scale.decades() == [10, 100, 1000] and scale.at(100) == 50
    assert apart({"a": 10, "b": 12, "c": 11}, 5, 0, 100) == {"a": 10, "c": 15, "b": 20}
    assert apart({"a": 98, "b": 99}, 5, 0, 100) == {"a": 95, "b": 100}


def picture(title, panels, names, colours, dashed=()):
    """The panels one below the other."""
    body, top = [], 10
    for panel in panels:
        if panel.is_empty():
            continue
        body += panel.svg(top, names, dashed)
        top += panel.height + LINE
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top:.0f}" width="{WIDTH}" '
        f'height="{top:.0f}" role="img">', f"<title>{html.escape(title)}</title>", style(colours),
        f'<rect width="{WIDTH}" height="{top:.0f}" class="paper"/>', *body, "</svg>"]) + "\n"
