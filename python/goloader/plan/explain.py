"""Which stage of a loader runs where, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["Explanation", "Row", "number_of"]

Where = Literal["Go", "Python"]


@dataclass(frozen=True)
class Row:
    """One stage: what it is, where it runs, and why there (empty where nothing needs saying)."""

    stage: str
    what: str
    where: Where
    why: str = ""


class Explanation:
    """The rows of a loader, in the order in which a sample meets them. str() is an aligned table."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Explanation) and self.rows == other.rows

    def __hash__(self) -> int:
        return hash(self.rows)

    def counted(self, stats: Mapping[str, int]) -> Explanation:
        """These rows and what was counted so far, once anything was."""
        if not stats["samples"]:
            return self
        text = f"{number_of(stats['samples'], 'sample')} in {number_of(stats['batches'], 'batch', 'batches')}"
        notes = []
        if pillow := stats["pillow_samples"]:
            notes.append(f"{pillow} of them decoded by Pillow")
        if ahead := stats["read_ahead"]:
            notes.append(f"{ahead} of them read ahead by more threads, since reading is slow")
        if entries := stats["seek_entries"]:
            index = f"{number_of(entries, 'file')}, {stats['seek_bytes'] >> 10} KiB"
            notes.append(f"{stats['seek_hits']} with the seek index: {index}")
        return Explanation([*self.rows, Row("so far", text, "Go", "; ".join(notes))])

    @property
    def native(self) -> bool:
        """True if Go makes the batches."""
        return any(row.where == "Go" for row in self.rows)

    def to_dict(self) -> dict[str, list[dict[str, str]]]:
        """The rows as JSON has them."""
        return {
            "rows": [{"stage": row.stage, "what": row.what, "where": row.where, "why": row.why} for row in self.rows]
        }

    def __str__(self) -> str:
        cells = [("stage", "what", "where", "why")]
        cells += [(row.stage, row.what, row.where, row.why) for row in self.rows]
        widths = [max(len(line[column]) for line in cells) for column in range(3)]
        return "\n".join(
            "  ".join([*(text.ljust(width) for text, width in zip(line, widths, strict=False)), line[3]]).rstrip()
            for line in cells
        )

    def __repr__(self) -> str:
        return f"<Explanation: {sum(row.where == 'Go' for row in self.rows)} of {len(self.rows)} stages in Go>\n{self}"


def number_of(count: int, one: str, several: str = "") -> str:
    """A number and what it is of: "1 batch", "2 batches"."""
    return f"{count} {one if count == 1 else several or one + 's'}"
