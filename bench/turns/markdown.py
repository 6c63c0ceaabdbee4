# SPDX-License-Identifier: Apache-2.0
"""The report as Markdown."""

import goals
import shapes
from peers import PEERS

FACTORIES = {"nio": "NIO", "netty": "Netty"}
NAME = {"nio": "ZooKeeper's NIO connections (its default)", "netty": "ZooKeeper's Netty connections"}


def number(value):
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def with_spread(of):
    if of is None:
        return "–"
    if of.least == of.most:
        return number(of.median)
    return f"{number(of.median)} ({number(of.least)}–{number(of.most)})"


def median(of):
    return number(of.median) if of else "–"


def table(head, rows):
    """Its columns but the first are of numbers."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def of_kind(medians, factory, *kinds):
    measured = {shape for told, shape, _ in medians.rounds if told == factory}
    return [s for s in shapes.SHAPES if s.kind in kinds and s.name in measured]


QUIET_CORES = 0.3


def was_quiet(medians):
    others = medians.of_all("other_cores")
    return others is None or others.median <= QUIET_CORES


def others_took(medians):
    """What else the machine did meanwhile."""
    others = medians.of_all("other_cores")
    if others is None:
        return []
    told = f"Others took {number(others.median)} cores meanwhile (at most {number(others.most)})."
    if not was_quiet(medians):
        told = ("**The machine was not quiet: of all this only the requests, and the bytes to and "
                f"from the server, are to be trusted.** {told}")
    return [told, ""]


def verdicts(medians, factory):
    """Goal by goal, of what was measured."""
    names = PEERS | {"raw": "raw", "native": "native"}
    rows = []
    for shape in of_kind(medians, factory, shapes.CYCLES):
        for goal in goals.of_shape(shape.name, factory):
            measured = goal.measured(medians, factory)
            if measured is not None:
                verdict = "reached" if goal.reached(measured.median) else "not yet"
                rows.append([shape.title, goal.title(names), with_spread(measured),
                             verdict if was_quiet(medians) else "–"])  # fmt: skip
    return table(["goals", "goal", "measured", "verdict"], rows) if rows else []


def without_holds(medians, factory):
    """Shapes whose rate says something: a hold of a millisecond bounds it."""
    return [s for s in of_kind(medians, factory, shapes.CYCLES) if not s.hold]


def handover(medians, factory):
    rows = []
    for shape in of_kind(medians, factory, shapes.CYCLES):
        def of(peer, part, shape=shape):
            return medians.of(factory, shape.name, peer, f"handover_{part}_us")

        def against(peer, shape=shape):
            return with_spread(medians.ratio(factory, shape.name, peer, "raw", "handover_p50_us"))

        if shape.hold:
            rows.append([shape.title, with_spread(of("uvzk", "p50")), median(of("uvzk", "p99")),
                         against("uvzk"), with_spread(of("native", "p50")),
                         median(of("native", "p99")), against("native"),
                         with_spread(of("raw", "p50")), median(of("raw", "p99")),
                         with_spread(of("curator", "p50")), median(of("curator", "p99"))])
    head = ["µs from a release to the next holder", "uvzk: p50", "p99", "× raw", "native: p50",
            "p99", "× raw", "raw: p50", "p99", "Curator: p50", "p99"]
    return table(head, rows) if rows else []


def throughput(medians, factory):
    def row(shape):
        def rate(peer):
            return with_spread(medians.of(factory, shape.name, peer, "cycles_per_s"))

        def against(peer, mine="uvzk"):
            return with_spread(medians.ratio(factory, shape.name, mine, peer, "cycles_per_s"))

        return [shape.title, rate("uvzk"), rate("curator"), against("curator"), rate("raw"),
                against("raw"), rate("native"), against("curator", "native"),
                against("raw", "native"), rate("kazoo")]

    head = ["acquires and releases a second", "uvzk", "Curator", "× Curator", "raw", "× raw",
            "native", "native × Curator", "native × raw", "kazoo"]
    return table(head, map(row, without_holds(medians, factory)))


def waiting(medians, factory):
    rows = []
    for shape in without_holds(medians, factory):
        row = [shape.title]
        for peer in ("uvzk", "curator"):
            row += [median(medians.of(factory, shape.name, peer, f"acquire_{part}_us"))
                    for part in ("p50", "p99", "p999")]
        row.append(median(medians.of(factory, shape.name, "native", "acquire_p50_us")))
        for peer in ("uvzk", "native", "raw"):
            row.append(median(medians.of(factory, shape.name, peer, "cycle_p50_us")))
        rows.append(row)
    head = ["µs", "uvzk: acquire p50", "p99", "p99.9", "Curator: acquire p50", "p99", "p99.9",
            "native: acquire p50", "uvzk: cycle p50", "native: cycle p50", "raw: cycle p50"]
    return table(head, rows)


def costs(medians, factory):
    figures = (("server_requests", "requests"), ("bytes_in", "bytes to the server"),
               ("bytes_out", "bytes from it"), ("loopback_bytes", "both, with TCP's headers"),
               ("client_cpu_us", "client µs"), ("server_cpu_us", "server µs"))
    rows = []
    for shape in of_kind(medians, factory, shapes.CYCLES):
        for peer in PEERS:
            if medians.of(factory, shape.name, peer, "server_cpu_us"):
                rows.append([f"{shape.title}: {PEERS[peer]}"] +
                            [median(medians.of(factory, shape.name, peer, figure))
                             for figure, _ in figures])
    return table(["for each acquire and release"] + [title for _, title in figures], rows)


def pending(medians, factory):
    rows = []
    for shape in of_kind(medians, factory, shapes.PENDING, shapes.BYTES):
        for peer in shape.peers:
            def of(figure, shape=shape, peer=peer):
                return medians.of(factory, shape.name, peer, figure)

            if of("queue_ms"):
                rows.append([f"{shape.title}: {PEERS[peer]}", with_spread(of("queue_ms")),
                             with_spread(of("drained_per_s")), median(of("bytes_per_pending"))])
    return table(["", "ms to queue", "drained a second", "bytes a pending acquire"], rows) + [
        "Bytes: of uvzk what its allocator counts, without the C client's; of Curator by how much "
        "the process grows, its threads with it.", ""]


def checks(medians):
    cells = sum(1 for _ in medians.all_figures())
    cycles = medians.sum_of("cycles")
    return (f"Every program checks exclusion, and the order of tokens, itself: in {cells} runs with "
            f"{cycles:,} acquires {medians.sum_of('overlaps')} overlaps, "
            f"{medians.sum_of('out_of_order')} out of order.")


def in_a_line(medians, facts):
    """What quickstart repeats."""
    told = []
    for name in ("distinct-256", "one-path-100", "semaphore-10"):
        factory = medians.factories()[0]
        times = medians.ratio(factory, name, "uvzk", "curator", "cycles_per_s")
        rate = medians.of(factory, name, "uvzk", "cycles_per_s")
        if times:
            told.append(f"{shapes.named(name).title}: {number(rate.median)}/s, "
                        f"{number(times.median)} × Curator")
    quiet = "" if was_quiet(medians) else ", which was not quiet"
    return f"Measured {facts['date']} on {facts['machine']}{quiet}: " + (
        "; ".join(told) or "see the table") + "."


def more_rounds(medians, facts):
    titles = [shape.title for shape in shapes.SHAPES if shape.name in shapes.CLOSE and any(
        (factory, shape.name, "uvzk") in medians.rounds for factory in medians.factories())]  # fmt: skip
    if facts["most_rounds"] <= facts["rounds"] or not titles:
        return ""
    return f" ({facts['most_rounds']} of {'; '.join(titles)})"


def conditions(medians, facts):
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return [
        f"{facts['date']}, {facts['machine']}; uvzk {facts['uvzk']}, {versions}. One server on "
        "loopback, its data in memory, forceSync=no, all processes on the same machine. "
        f"{facts['mode']}: {facts['rounds']} round{'s' if facts['rounds'] > 1 else ''}"
        f"{more_rounds(medians, facts)}, in each of "
        f"which the programs take turns, shape by shape, {facts['window_ms']} ms each behind a "
        f"warming up of {facts['warm_ms']} ms, and not less than {shapes.LEAST_MS_A_TASK} ms a "
        "task (Curator in one JVM, which was at work for "
        f"{facts['java_warm_ms'] / 1000:.0f} s before). Medians, with the least and the most in "
        "brackets; a ratio is the median of the rounds' ratios. Figures move with the machine, "
        "ratios and requests do so less.", ""]  # fmt: skip


def shown(title, picture):
    """pictures.py draws it of the tables that follow."""
    return f"![{title}: what the tables say of speed, as plots](pictures/{picture}.svg)"


def sections(medians, facts):
    lines = [in_a_line(medians, facts), "", checks(medians), "", *others_took(medians),
             *conditions(medians, facts)]
    for factory in medians.factories():
        lines += [f"### {NAME[factory]}", "", shown(NAME[factory], f"performance-{factory}"), "",
                  *throughput(medians, factory),
                  *handover(medians, factory), *verdicts(medians, factory),
                  *waiting(medians, factory), *costs(medians, factory)]
        if of_kind(medians, factory, shapes.PENDING, shapes.BYTES):
            lines += pending(medians, factory)
    return lines


BEGIN = "<!-- bench/run writes from here"
BESIDE = "<!-- bench/run --peers writes from here"
END = "<!-- to here -->"
def stored(page, lines, begin=BEGIN):
    """The page with the report in its place, and all else as it was."""
    assert page.count(begin) == 1, f"the page has no place for what is to be stored: {begin}"
    head, _, rest = page.partition(begin)
    tail = rest.partition(END)[2]
    return f"{head}{begin} -->\n\n" + "\n".join(lines).rstrip() + f"\n\n{END}{tail}"
