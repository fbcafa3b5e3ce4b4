"""The state that a loader goes on from, of the states of a job's ranks: of as many ranks as now, or of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import distributed

from .._errors import StateError
from ..adapters.torch import DatasetKind
from ..plan import samplers
from ..plan.explain import number_of
from ..plan.trust.look import attribute, has
from . import deal, ledger
from .ledger import Record, read, unbegun
from .order import batch_size_of, between, name_of, ranks_of, sampler_of, set_epoch

if TYPE_CHECKING:
    from .._loader import DataLoader

_APART = "ranks stand in different epochs, or their samplers have different seeds"

# Of a state of a whole job: the states of its ranks.
RANKS = "ranks"


def place(loader: DataLoader[Any]) -> tuple[int, int]:
    """A loader's rank and the number of ranks: its sampler's, or those of torch.distributed if that deals nothing."""
    sampler = sampler_of(loader)
    rank, ranks = attribute(sampler, "rank", 0), ranks_of(sampler)
    if (ranks > 1 and has(sampler, "rank")) or not (distributed.is_available() and distributed.is_initialized()):
        return rank, ranks
    return distributed.get_rank(), distributed.get_world_size()


def fitted(loader: DataLoader[Any], state: Mapping[str, Any]) -> Mapping[str, Any]:
    """The state for this rank, of one of a whole job, or of one of any rank: then all of them stood where it stands.

    Raises StateError for what only as many ranks can go on from.
    """
    states: Sequence[Any] = state[RANKS] if isinstance(state, Mapping) and RANKS in state else [state]
    if {} in states:
        return {}
    records, (rank, ranks) = [read(each) for each in states], place(loader)
    orders = [record.order for record in records if record.order is not None]
    try:
        alike = all(order["ranks"] == ranks_of(sampler_of(loader)) for order in orders)
        if alike and len(states) in (1, ranks):
            return _for_workers(loader, records[rank % len(records)])
        if len(states) == 1:
            records *= orders[0]["ranks"]
        if orders:
            return _dealt_again(loader, records, rank)
        if len({record.epoch for record in records}) > 1:
            raise StateError(_APART)
        return _begins(loader, records[0], records[0].epoch + 1)
    except (KeyError, TypeError, AttributeError) as error:
        raise StateError(f"not a state of a loader: {type(error).__name__}: {error}") from None


def _for_workers(loader: DataLoader[Any], record: Record) -> Mapping[str, Any]:
    """The state of a rank, without its worker processes where this loader has another number and they had no state."""
    iterable = loader._dataset_kind == DatasetKind.Iterable
    if "_snapshot" not in record.own or record.num_workers == loader.num_workers or iterable:
        return record.state
    try:
        _check_own(record)
    except StateError:
        return record.state  # whoever makes the iterator says why not
    rest: Mapping[str, Any] = record.state["goloader"]
    return {**rest, "num_workers": loader.num_workers, "streams": [0] * loader.num_workers or None}


def same_batches(record: Record, loader: DataLoader[Any]) -> None:
    """Raises StateError if a resume that counts batches would count others than those of the state."""
    then, now = (record.order or {}).get("batch_size"), batch_size_of(loader._index_sampler)
    if then != now:
        raise StateError(
            f"the state is of batches of {then} samples, this loader has batches of {now}: it would have to make "
            "batches of the state once more, or to leave out single ones"
        )


def _begins(loader: DataLoader[Any], record: Record, epoch: int) -> dict[str, Any]:
    """The state in front of an epoch. The loader's own generators stay as they are."""
    told = (record.order, *(record.between or {}).values())
    for number in (each["epoch"] for each in told if isinstance(each, Mapping) and "epoch" in each):
        set_epoch(sampler_of(loader), number)
    return unbegun(loader.num_workers, epoch, record.rng, between(loader))


def _dealt_again(loader: DataLoader[Any], records: Sequence[Record], rank: int) -> dict[str, Any]:
    """The state in an epoch of which this rank is dealt its part of what is left."""
    begun = [record for record in records if record.order is not None]
    begun = [record for record in begun if _batches(record)] or begun
    base, sampler = begun[rank % len(begun)], sampler_of(loader)
    order = base.order or {}
    dealt = order.get("deal")
    mine = deal.whole(sampler, 0) if samplers.known(loader) is not None else None
    if dealt is None or mine is None or len(records) != order["ranks"] or not deal.alike(mine, dealt):
        raise StateError(
            f"the state is of {number_of(len(records), 'rank')} with a {order['sampler']}, this loader has a "
            f"{name_of(sampler)} for {ranks_of(sampler)}: the second cannot divide what the first left"
        )
    if mine["samples"] != dealt["samples"]:
        raise StateError(f"the state is of {dealt['samples']} samples, this loader has {mine['samples']}")
    for record in begun:
        _check_own(record)
    rest = deal.Rest.of(dealt)
    taken = [_taken(record, base, rest.each(len(records), dealt["drop_last"])) for record in records]
    if not any(taken) and len(rest) == rest.size:
        return _begins(loader, base, base.epoch)
    rest = rest.after(taken)
    left = {"drop_last": mine["drop_last"], "begin": rest.begin, "early": rest.early.tolist()}
    made = {name: order[name] for name in ("epoch",) if name in order} | {
        "sampler": name_of(sampler),
        "batches": 0,
        "taken": 0,
        "batch_size": batch_size_of(loader._index_sampler),
        "ranks": ranks_of(sampler),
        "deal": _source(order) | left,
    }
    return ledger.dealt(base, loader.num_workers, made)


def _batches(record: Record) -> int:
    return 0 if record.order is None else int(record.order["batches"])


def _taken(record: Record, base: Record, each: int) -> int:
    """How much a rank has taken of what it was dealt in the epoch of `base`."""
    if record.order is None and record.epoch in (base.epoch, base.epoch - 1):
        return each if record.epoch == base.epoch else 0
    alike = record.order is not None and base.order is not None and record.epoch == base.epoch
    if not alike or (_batches(record) and _source(record.order or {}) != _source(base.order or {})):
        raise StateError(_APART)
    return min(int((record.order or {})["taken"]), each)


def _source(order: Mapping[str, Any]) -> dict[str, Any]:
    """The deal of an order, with the seed or the state of the generator that the order was drawn from."""
    dealt: dict[str, Any] = dict(order["deal"])
    if not dealt.keys().isdisjoint(("seed", "begin")):
        return dealt
    if "iterator" in order:
        return dealt | {"seed": order["iterator"]["seed"]}
    if "seed" in order:
        return dealt | {"seed": order["seed"]}
    states = order["begun"] | order["made"]
    text = states.get("sampler", states.get("loader"))
    return dealt if text is None else dealt | {"generator": text}


def _check_own(record: Record) -> None:
    """Raises StateError for what a rank, or a worker of it, can go on with, and no other."""
    snapshot = record.own.get("_snapshot") or {}
    told = list(snapshot.get("_worker_snapshots", {}).values())
    if any(
        each is not None for each in (record.own.get("dataset_state"), *(worker["dataset_state"] for worker in told))
    ):
        raise StateError(
            "the dataset has its own state in each rank: only the same number of ranks can continue from it"
        )
    if (
        record.generators
        or (record.streams is not None and record.streams.any())
        or any(worker["generators"] for worker in told)
    ):
        raise StateError(
            "random numbers were drawn in workers: only the same number of ranks can continue with their generators. "
            "With rng='sample' draws do not depend on ranks"
        )
    if snapshot and (snapshot["_main_snapshot"]["ahead"] or record.own["_steps_since_snapshot"]):
        raise StateError(
            "batches came out of order, or must be made again: only the same number of ranks can continue from there"
        )
