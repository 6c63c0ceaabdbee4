"""The report as an HTML page, with plots by gnuplot."""

import html
import shutil
import subprocess

import markdown
import shapes
from peers import PEERS

COLOURS = ("#1b6ca8", "#888888", "#c8502d", "#5a9e3a", "#7b4ea3", "#222222")
SERVERS = ("nio", "netty")

STYLE = """body{font:15px/1.45 sans-serif;max-width:76em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;font-size:13px;margin:1em 0}td,th{border:1px solid #ccc;
padding:2px 8px;text-align:right}td:first-child,th:first-child{text-align:left}
svg{width:32%;min-width:22em;height:auto}"""


class Plot:
    """Lines over one number, both axes logarithmic; each point with its spread."""

    def __init__(self, title, across, up):
        self.title, self.across, self.up = title, across, up
        self.lines = []  # (name, [(x, Spread)])

    def add(self, name, points):
        points = [(x, of) for x, of in points if of is not None and of.median > 0]
        if points:
            self.lines.append((name, points))

    def script(self):
        text = ["set terminal svg size 560,380 font 'sans-serif,11' background '#ffffff'",
                f"set title '{self.title}'", f"set xlabel '{self.across}'",
                f"set ylabel '{self.up}'", "set logscale xy", "set grid",
                "set key outside below", "set format y '%.0s%c'"]  # fmt: skip
        for index, (_, points) in enumerate(self.lines):
            text.append(f"$line{index} << END")
            text += [f"{x} {of.median} {of.least} {of.most}" for x, of in points]
            text.append("END")
        text.append("set xrange [0.8:*]")
        text.append("plot " + ", ".join(
            f"$line{index} with yerrorlines title '{name}' lw 2 pt 7 ps 0.5 "
            f"lc rgb '{COLOURS[index % len(COLOURS)]}'"
            for index, (name, _) in enumerate(self.lines)))  # fmt: skip
        return "\n".join(text) + "\n"

    def svg(self):
        drawn = subprocess.run(["gnuplot"], input=self.script(), check=True,
                               stdout=subprocess.PIPE, text=True).stdout  # fmt: skip
        return drawn[drawn.index("<svg"):]


def series(medians, factory, of_series, peer, figure, across="tasks"):
    return [(getattr(shape, across), medians.of(factory, shape.name, peer, figure))
            for shape in of_series]  # fmt: skip


def plots(medians, factory):
    cycles = markdown.of_kind(medians, factory, shapes.CYCLES)
    mutexes = [s for s in cycles if s.recipe == "mutex"]
    of_locks = [s for s in mutexes if s.paths == s.tasks and s.sessions == 1]
    one_path = [s for s in mutexes if s.paths == 1 and s.tasks > 1 and s.sessions == 1]
    ten = [s for s in mutexes if s.paths == 1 and s.sessions == 10]
    sessions = [s for s in mutexes if s.paths == 1 and s.tasks == 100]
    groups = (("locks, each with a task", of_locks), ("tasks at one mutex", one_path),
              ("tasks at one mutex, 10 sessions", ten))  # fmt: skip

    for across, group in groups:
        plot = Plot("throughput", across, "acquires and releases a second")
        for peer in PEERS:
            plot.add(PEERS[peer], series(medians, factory, group, peer, "cycles_per_s"))
        yield plot
    plot = Plot("throughput, 100 tasks at one mutex", "sessions", "acquires and releases a second")
    for peer in PEERS:
        plot.add(PEERS[peer], series(medians, factory, sessions, peer, "cycles_per_s", "sessions"))
    yield plot
    for across, group in groups:
        plot = Plot("acquire until granted", across, "µs")
        for peer in ("uvzk", "curator"):
            for part, title in (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9")):
                plot.add(f"{PEERS[peer]} {title}",
                         series(medians, factory, group, peer, f"acquire_{part}_us"))  # fmt: skip
        yield plot
    for figure, up in (("server_requests", "requests a grant"),
                       ("loopback_bytes", "bytes on the wire a grant"),
                       ("client_cpu_us", "CPU µs of the client a grant"),
                       ("server_cpu_us", "CPU µs of the server a grant")):  # fmt: skip
        for across, group in groups[:2]:
            plot = Plot(up.partition(" a grant")[0], across, up)
            for peer in PEERS:
                plot.add(PEERS[peer], series(medians, factory, group, peer, figure))
            yield plot
    plot = Plot("memory", "pending on one path", "bytes a pending acquire")
    for peer in ("uvzk", "curator"):
        plot.add(PEERS[peer], series(medians, factory, markdown.of_kind(
            medians, factory, shapes.PENDING), peer, "bytes_per_pending"))  # fmt: skip
    yield plot


def as_html(lines):
    """Of the Markdown that markdown.py writes: headings, tables, paragraphs."""
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
        elif line:
            out.append(f"<p>{html.escape(line)}</p>")
    return out + (["</table>"] if in_table else [])


def write(path, medians, facts):
    """Whether it has plots."""
    drawn = []
    have = shutil.which("gnuplot") is not None
    for factory in medians.factories() if have else ():
        drawn.append(f"<h2>{markdown.FACTORIES[factory]}</h2>")
        drawn += [plot.svg() for plot in plots(medians, factory) if plot.lines]
    path.write_text("\n".join(
        ["<!doctype html><html lang=en><meta charset=utf-8><title>uvzk: performance</title>",
         f"<style>{STYLE}</style><h1>uvzk: performance</h1>",
         *as_html(markdown.sections(medians, facts)), *drawn, "</html>"]) + "\n")  # fmt: skip
    return have
