"""What runs where in a loader, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from .. import _table

Where = Literal["Go", "Python"]

# Stages that every sample goes through.
_WORK = ("source", "transform", "collate", "loader")


@dataclass(frozen=True)
class Row:
    """One stage: what it is, where it runs ("Go" or "Python"), and why; `why` is empty where nothing needs to be said.

    code  the reason as a code, if Python runs it: docs/reasons.md says what to change
    """

    stage: str
    what: str
    where: Where
    why: str = ""
    code: str = ""

    @property
    def _told(self) -> str:
        return f"{self.why} [{self.code}]" if self.code else self.why


class Explanation:
    """The rows of a loader, in the order in which a sample passes them. str() is an aligned table."""

    def __init__(self, rows: Iterable[Row], counted: float | None = None) -> None:
        """`counted`: the share of the images made so far that Go made, if any were."""
        self.rows = tuple(rows)
        self._counted = counted

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Explanation) and self.rows == other.rows

    def __hash__(self) -> int:
        return hash(self.rows)

    def counted(self, stats: Mapping[str, Any]) -> Explanation:
        """These rows and what was counted so far, once anything was."""
        if not stats["samples"]:
            return self
        text = f"{number_of(stats['samples'], 'sample')} in {number_of(stats['batches'], 'batch', 'batches')}"
        notes = []
        if pillow := stats["pillow_samples"]:
            notes.append(f"{pillow} of them decoded by Pillow")
        if ahead := stats["read_ahead"]:
            notes.append(f"{ahead} of them read ahead by more threads, since reading is slow")
        if retries := stats["read_retries"]:
            notes.append(f"{number_of(retries, 'read')} tried again after a temporary error")
        if requests := stats.get("requests"):
            second = (
                f", {hedged} of them a second time since the first was slow"
                if (hedged := stats["hedged_requests"])
                else ""
            )
            notes.append(f"{number_of(requests, 'request')}, {stats['received_bytes'] >> 20} MiB{second}")
        if entries := stats["seek_entries"]:
            index = f"{number_of(entries, 'file')}, {stats['seek_bytes'] >> 10} KiB"
            notes.append(f"{stats['seek_hits']} with the seek index: {index}")
        if cache := stats.get("cache"):
            notes.append(_cached(cache))
        share = 1 - stats["pillow_samples"] / stats["samples"] if self._counted is None else self._counted
        return Explanation([*self.rows, Row("so far", text, "Go", "; ".join(notes))], share)

    @property
    def native(self) -> bool:
        """True if Go makes the batches."""
        return any(row.where == "Go" for row in self.rows)

    @property
    def native_fraction(self) -> float:
        """The share that Go makes, from 0 to 1.

        Once images were made: the share of the images (of other samples: of all samples) that Go made. Before that: the
        share of the stages of a sample that run in Go.
        """
        if self._counted is not None:
            return self._counted
        work = [row.where == "Go" for row in self.rows if row.stage in _WORK]
        return sum(work) / len(work) if work else float(self.native)

    @property
    def codes(self) -> tuple[str, ...]:
        """The reasons why stages run in Python, each once. docs/reasons.md says what they mean and what to change."""
        return tuple(dict.fromkeys(row.code for row in self.rows if row.code))

    def to_dict(self) -> dict[str, Any]:
        """A dict for JSON: "native_fraction", and "rows", each with "stage", "what", "where", "why" and "code"."""
        return {"native_fraction": self.native_fraction, "rows": [asdict(row) for row in self.rows]}

    def _cells(self) -> list[tuple[str, str, str, str]]:
        return [("stage", "what", "where", "why"), *((row.stage, row.what, row.where, row._told) for row in self.rows)]

    def __str__(self) -> str:
        return _table.text(self._cells())

    def _repr_html_(self) -> str:
        return _table.html(self._cells())

    def __repr__(self) -> str:
        return f"<Explanation: {sum(row.where == 'Go' for row in self.rows)} of {len(self.rows)} stages in Go>\n{self}"


def _cached(cache: Mapping[str, int]) -> str:
    told = (
        f"{number_of(cache[f'{key}_hits'], 'read')} from {place}, which has {cache[f'{key}_bytes'] >> 10} KiB"
        for key, place in (("ram", "memory"), ("disk", "the disk"))
    )
    return f"of all loaders with this cache {', '.join(told)}; {cache['misses']} from the storage"


def number_of(count: int, one: str, several: str = "") -> str:
    """A number and what it is of: "1 batch", "2 batches"."""
    return f"{count} {one if count == 1 else several or one + 's'}"
