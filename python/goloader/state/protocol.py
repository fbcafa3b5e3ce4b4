"""The protocol by which datasets, samplers and their iterators save and restore a state of their own."""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard

from ..plan.trust.look import has

REPLAYED = (
    "Neither dataset nor iter(dataset) defines state_dict/load_state_dict, so the first %d batches of the dataset are "
    "made once more and dropped. A dataset that has both resumes at once."
)


class Stateful(Protocol):
    """Has a state: torchdata's protocol, checked by the methods alone."""

    def state_dict(self) -> dict[str, Any]:
        """The state, as something that pickles; JSON if the loader's state is to be JSON."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes to a state that state_dict() gave, perhaps in another process."""


def has_state(thing: object) -> TypeGuard[Stateful]:
    """Whether a thing is Stateful, by what its class and itself have: `__getattr__` is not asked."""
    return has(thing, "state_dict") and has(thing, "load_state_dict")


def saved(thing: object) -> dict[str, Any] | None:
    """The state of a thing; None if it has none."""
    return thing.state_dict() if has_state(thing) else None


def restore(thing: object, state: dict[str, Any] | None) -> None:
    """Puts a thing into a state that `saved` gave; nothing happens if either has none."""
    if state is not None and has_state(thing):
        thing.load_state_dict(state)
