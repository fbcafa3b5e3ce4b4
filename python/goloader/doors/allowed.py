"""The doors that the environment allows, to find out which one causes a problem: GOLOADER=off, or some of door1 to
door3.

GOLOADER=off          torch's own iterators make every batch
GOLOADER=door1,door3  only these doors; everything else runs as torch runs it. Without door 3, batches of worker
                      processes come as with torch, and nothing is recorded there, since recipes need slots too
"""

from __future__ import annotations

import os

from ..plan.refusal import Refusal

_DOORS = ("door1", "door2", "door3")


def closed(door: int) -> str:
    """What keeps a door, 1 to 3, closed ("GOLOADER=off"); "" if it is open.

    Raises ValueError if the variable names anything but "off" and doors.
    """
    text = os.environ.get("GOLOADER", "").strip().lower()
    if not text:
        return ""
    names = [name.strip() for name in text.split(",")]
    if names != ["off"] and not set(names) <= set(_DOORS):
        raise ValueError(f"GOLOADER is {text!r}, neither off nor some of {', '.join(_DOORS)} with commas between them")
    return "" if _DOORS[door - 1] in names else f"GOLOADER={text}"


def refusal(door: int) -> Refusal | None:
    """The same, as a reason; None if it is open."""
    closes = closed(door)
    why = "GOLOADER in the environment turns this door off"
    return Refusal("loader", closes, why, "DOOR_CLOSED") if closes else None


def off() -> bool:
    """True if torch's own iterators are to make every batch."""
    return "GOLOADER" in os.environ and all(closed(door) for door in (1, 2, 3))
