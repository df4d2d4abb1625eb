"""The grid over the picture: columns are letters from the left, rows numbers from the bottom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbench_agent_moka.questions import Unusable


@dataclass(frozen=True)
class Tiles:
    """A grid of equal tiles over a picture of some height and width."""

    rows: int
    columns: int
    height: int
    width: int

    def names(self) -> dict[str, tuple[float, float]]:
        """Every tile and its middle (x, y)."""
        wide, tall = self.width / self.columns, self.height / self.rows
        return {
            f"{chr(ord('a') + column)}{self.rows - row}": ((column + 0.5) * wide, (row + 0.5) * tall)
            for row in range(self.rows)
            for column in range(self.columns)
        }

    def sample(self, tile: str, rng: np.random.Generator) -> tuple[float, float]:
        """A uniformly random position (x, y) in a tile.

        Raises:
            Unusable: there is no such tile.
        """
        self.check(tile)
        column, row = ord(tile[0]) - ord("a"), self.rows - int(tile[1:])
        x, y = rng.random(2)
        return ((column + x) * self.width / self.columns, (row + y) * self.height / self.rows)

    def check(self, tile: str) -> None:
        """Refuse a name that no tile has."""
        if tile not in self.names():
            raise Unusable(f"there is no tile {tile!r}")
