# SPDX-License-Identifier: Apache-2.0
"""What uvzk is to reach, over which connections, and whether it does.

A goal compares a figure of one program with the same figure of another, round by round, or with a
number. Of a rate, the ratio is to be at least so much; of a time or a cost, at most."""

from dataclasses import dataclass

RATE, CYCLE, PROCESSOR = "cycles_per_s", "cycle_p50_us", "client_cpu_us"
HANDOVER, HANDOVER_99 = "handover_p50_us", "handover_p99_us"
FIGURES = {RATE: "", CYCLE: "p50 of a cycle ", PROCESSOR: "client µs a cycle ",
           HANDOVER: "p50 of a handover ", HANDOVER_99: "p99 of a handover "}  # fmt: skip
BOTH, NIO, NETTY = ("nio", "netty"), ("nio",), ("netty",)
WHO = {"uvzk": "C client", "native": "native"}


@dataclass(frozen=True)
class Goal:
    shape: str
    mine: str  # the program that has the goal
    bound: float
    other: str = ""  # whom it is compared with; "": the bound is the figure itself
    servers: tuple = BOTH
    figure: str = RATE
    other_figure: str = ""  # of the other; "": the same

    def measured(self, medians, factory):
        """The spread over the rounds; None: not measured."""
        if self.other:
            return medians.ratio(factory, self.shape, self.mine, self.other, self.figure,
                                 self.other_figure)
        return medians.of(factory, self.shape, self.mine, self.figure)

    def title(self, names):
        sign = "≥" if self.figure == RATE else "≤"
        whose = "its p50" if self.other == self.mine else names.get(self.other)
        times = f" × {whose}" if self.other else ""
        return f"{WHO[self.mine]}: {FIGURES[self.figure]}{sign} {self.bound:g}{times}"

    def reached(self, median):
        return median >= self.bound if self.figure == RATE else median <= self.bound


def each(shape, mine, servers=BOTH, figure=RATE, **others):
    """One goal for each program that it is compared with."""
    return [Goal(shape, mine, bound, other, servers, figure) for other, bound in others.items()]


def handovers(shape):
    """Of a release to the next holder: beside the bare event, and the slow ones."""
    return [
        *each(shape, "uvzk", NIO, HANDOVER, raw=2),
        *each(shape, "native", NIO, HANDOVER, raw=1.4),
        Goal(shape, "native", 4, "native", NIO, HANDOVER_99, HANDOVER),
    ]


GOALS = (
    *each("distinct-1", "uvzk", curator=1.3),
    *each("distinct-1", "uvzk", NIO, CYCLE, raw=1.31),
    *each("distinct-1", "uvzk", NETTY, CYCLE, raw=1.8),
    *each("distinct-1", "native", NIO, CYCLE, raw=1.1),
    *each("distinct-1", "native", NETTY, CYCLE, raw=1.2),
    Goal("distinct-1", "native", 60, figure=PROCESSOR),
    *each("distinct-16", "uvzk", curator=3),
    *each("distinct-16", "native", NIO, curator=4),
    *each("distinct-16", "native", NETTY, curator=3),
    *each("distinct-256", "uvzk", curator=8),
    *each("distinct-256", "native", NIO, curator=18),
    *each("distinct-256", "native", NETTY, curator=10),
    *each("distinct-1000", "uvzk", curator=10),
    *each("distinct-1000", "native", NIO, curator=17),
    *each("distinct-1000", "native", NETTY, curator=10),
    *each("distinct-10000", "uvzk", raw=0.7),
    *each("distinct-10000", "native", raw=0.85),
    *each("one-path-100", "uvzk", raw=0.9),
    *each("one-path-1000", "uvzk", raw=0.9),
    *each("one-path-10000", "uvzk", raw=0.9),
    *each("one-path-20-s2", "uvzk", curator=3.5),
    *each("one-path-20-s2", "native", curator=7),
    *each("one-path-10-s10", "uvzk", curator=2.2, raw=0.27),
    *each("one-path-10-s10", "uvzk", raw=0.85),
    *each("one-path-10-s10", "native", curator=3.5, raw=0.4),
    *each("one-path-100-s10", "uvzk", raw=0.85),
    *each("one-path-100-s100", "uvzk", curator=3, raw=0.3),
    *each("one-path-100-s100", "native", curator=4, raw=0.4),
    *each("one-path-1000-s10", "uvzk", raw=0.85),
    *handovers("handover-2-s2"),
    *handovers("handover-10-s10"),
    *each("semaphore-10", "uvzk", curator=15),
    *each("semaphore-100", "uvzk", curator=30),
    *each("semaphore-10-s10", "uvzk", curator=1.6),
    *each("semaphore-10-s10", "uvzk", curator=2),
    *each("semaphore-10-s10", "native", curator=2.5),
    *each("semaphore-100-s10", "uvzk", curator=3),
    *each("own-semaphore-256", "uvzk", curator=6),
    *each("readers-100", "uvzk", curator=10),
)


def of_shape(shape, factory):
    return [goal for goal in GOALS if goal.shape == shape and factory in goal.servers]


def self_check():
    from medians import Medians

    def reached(goal, mine, other=1):
        cells = {("nio", goal.shape, who, 0): {goal.figure: value}
                 for who, value in ((goal.mine, mine), ("curator", other))}  # fmt: skip
        return goal.reached(goal.measured(Medians(cells), "nio").median)

    rate = Goal("s", "uvzk", 3, "curator")
    assert reached(rate, 3) and reached(rate, 6, 2) and not reached(rate, 2.9)
    cost = Goal("s", "native", 60, figure=PROCESSOR)
    assert reached(cost, 60) and not reached(cost, 61)
    assert rate.measured(Medians({}), "nio") is None
    slow = Goal("s", "native", 4, "native", NIO, HANDOVER_99, HANDOVER)
    cells = {("nio", "s", "native", 0): {HANDOVER: 100, HANDOVER_99: 400}}
    assert slow.measured(Medians(cells), "nio").median == 4 and slow.reached(4), slow
    assert slow.title({}) == "native: p99 of a handover ≤ 4 × its p50"
