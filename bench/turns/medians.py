# SPDX-License-Identifier: Apache-2.0
"""What several rounds say together: medians, with the least and the most."""

import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    median: float
    least: float
    most: float


def spread(values):
    values = [value for value in values if value is not None]
    return Spread(statistics.median(values), min(values), max(values)) if values else None


class Medians:
    """Of a record's cells."""

    def __init__(self, cells):
        self.rounds = {}  # (factory, shape, peer): {round: figures}
        for (factory, shape, peer, number), figures in cells.items():
            self.rounds.setdefault((factory, shape, peer), {})[number] = figures

    def factories(self):
        return sorted({factory for factory, _, _ in self.rounds}, reverse=True)  # nio first

    def of(self, factory, shape, peer, figure):
        rounds = self.rounds.get((factory, shape, peer), {})
        return spread([figures.get(figure) for figures in rounds.values()])

    def ratio(self, factory, shape, peer, other, figure, other_figure=None):
        """Round by round, of two that took turns with nobody but the others in between."""
        mine = self.rounds.get((factory, shape, peer), {})
        theirs = self.rounds.get((factory, shape, other), {})
        other_figure = other_figure or figure
        return spread([mine[number][figure] / theirs[number][other_figure]
                       for number in mine.keys() & theirs.keys()
                       if figure in mine[number] and theirs[number].get(other_figure)])

    def all_figures(self):
        for rounds in self.rounds.values():
            yield from rounds.values()

    def of_all(self, figure):
        return spread([figures.get(figure) for figures in self.all_figures()])

    def sum_of(self, figure):
        return sum(figures.get(figure, 0) for figures in self.all_figures())

    def dictionary(self):
        """{factory: {shape: {peer: {figure: [median, least, most]}}}}"""
        told = {}
        for (factory, shape, peer), rounds in sorted(self.rounds.items()):
            names = sorted({name for figures in rounds.values() for name, value in figures.items()
                            if isinstance(value, (int, float)) and not isinstance(value, bool)})
            figures = {name: self.of(factory, shape, peer, name) for name in names}
            told.setdefault(factory, {}).setdefault(shape, {})[peer] = {
                name: [s.median, s.least, s.most] for name, s in figures.items()}
        return told


def self_check():
    cells = {("nio", "s", "uvzk", n): {"rate": rate} for n, rate in enumerate((30, 10, 20))}
    cells |= {("nio", "s", "curator", n): {"rate": rate} for n, rate in enumerate((10, 10, 5))}
    medians = Medians(cells)
    assert medians.of("nio", "s", "uvzk", "rate") == Spread(20, 10, 30)
    # Of the rounds, not of the medians: 3, 1 and 4.
    assert medians.ratio("nio", "s", "uvzk", "curator", "rate") == Spread(3, 1, 4)
    assert medians.of("nio", "s", "kazoo", "rate") is None
    assert medians.ratio("nio", "s", "uvzk", "kazoo", "rate") is None
    assert medians.sum_of("rate") == 85
