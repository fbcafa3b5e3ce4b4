"""How the batches of a loader are put together: as torch does, as goloader does, or by a collate_fn that was read."""

from __future__ import annotations

from types import BuiltinFunctionType
from typing import Any

import torch
from torch.utils.data._utils import collate, fetch, worker

from ..._beside import Beside
from ...collate import Jagged, Pack, Pad
from ..bytecode import UnreadableError
from ..refusal import Refusal, RefusalError, granted
from ..trust.look import name_of
from ..trust.originals import behind, is_original
from .called import Called
from .collation import Collation, registered
from .finish import Finish
from .own import OwnCollate
from .timm import FastCollate
from .tokens import TokenCollate

_TENSOR = torch.empty(0)
_METHODS = ("__call__", "join", "_put", "_is_field", "_fields_in")

# The collate functions of users' own, as they were read; those that go on with default_collate's batch.
_own_ones: Beside[Any, OwnCollate] = Beside()
_finished: Beside[Any, Collation] = Beside()
_called: Beside[Any, Called] = Beside()


def of(loader: Any) -> Collation | OwnCollate | Called | Refusal:
    """How `loader` puts batches together, or the reason why that is not known.

    With batch_size=None a sample is handed on as it is, but for tuples: default_convert makes lists of them.
    """
    batched = loader._auto_collation
    want, name = (
        (collate.default_collate, "default_collate") if batched else (collate.default_convert, "default_convert")
    )
    given = loader.collate_fn
    made: Collation | OwnCollate | Called = Collation(name)
    if batched and type(given) in (Pad, Jagged, Pack):
        made = _own(given)
    elif given is not want:
        if not batched:
            return Refusal("collate", name_of(given), f"without batches only {name} is known", "COLLATE_OWN")
        try:
            made = _read(loader)
        except RefusalError as refused:
            return refused.refusal
    helpers: list[Any] = [want, collate.default_collate, collate.collate]
    helpers += [collate.collate_tensor_fn, collate.collate_int_fn]
    helpers += [fetch._MapDatasetFetcher.__init__, fetch._MapDatasetFetcher.fetch]
    helpers += [worker._worker_loop] * (loader.num_workers > 0)
    builtin = all(type(behind(function)) is BuiltinFunctionType for function in (torch.stack, torch.as_tensor))
    if not builtin or not all(is_original(function, "torch") for function in helpers):
        return Refusal("collate", name, "torch's own functions were replaced", "FUNCTION_REPLACED")
    if type(given) in (Pad, Jagged, Pack):
        if not all(is_original(getattr(type(given), name), "goloader") for name in _METHODS):
            return Refusal("collate", made.name, "its methods were replaced", "FUNCTION_REPLACED")
        if given.others is not collate.default_collate:
            return Refusal(
                "collate",
                made.name,
                "fields that are not sequences go to a function that is not torch's",
                "COLLATE_FIELDS",
            )
    if batched:
        for sample, function in (
            ((), None),
            ({}, None),
            (_TENSOR, collate.collate_tensor_fn),
            (0, collate.collate_int_fn),
        ):
            if registered(sample) is not function:
                return Refusal(
                    "collate", name, f"default_collate_fn_map was changed for {type(sample).__name__}", "COLLATE_OWN"
                )
    return made


def _read(loader: Any) -> OwnCollate | Collation | Called:
    """What a collate_fn of the user's own does. Raises RefusalError."""
    finished = _finished.get(loader)
    if finished is not None and finished.after is not None and finished.after.given is loader.collate_fn:
        return finishing(loader, finished.after.why)
    called = _called.get(loader)
    if called is not None and called.given is loader.collate_fn:
        return calling(loader, called.why)
    known = _own_ones.get(loader)
    if known is None or known.given is not loader.collate_fn or not known.unchanged():
        try:
            given = loader.collate_fn
            kinds = (kind for kind in (FastCollate, TokenCollate) if kind.takes(given))
            known = _own_ones[loader] = next(kinds, OwnCollate)(given)
        except RefusalError as refused:
            try:
                return finishing(loader, refused.refusal)
            except RefusalError as other:
                return calling(loader, other.refusal)
    if isinstance(known, TokenCollate) and known.after is not None:
        known.after.check(loader)
    return known


def calling(loader: Any, why: Refusal) -> Called:
    """The same where Go makes samples and Python calls the function, as it is not compiled: for that `why`.

    Raises RefusalError.
    """
    known = _called.get(loader)
    if known is None or known.given is not loader.collate_fn or not known.unchanged():
        _called.pop(loader)
        try:
            known = _called[loader] = Called(loader.collate_fn, why)
        except UnreadableError:
            return granted(why)
    known.check_pays(loader.num_workers)
    return known


def finishing(loader: Any, why: Refusal) -> Collation:
    """The same where Go makes default_collate's batch, and Python goes on, as more is not compiled: for that `why`.

    Raises RefusalError.
    """
    known = _finished.get(loader)
    if known is None or known.after is None or known.after.given is not loader.collate_fn or not known.unchanged():
        _finished.pop(loader)
        try:
            known = Collation(name_of(loader.collate_fn), after=Finish.of(loader.collate_fn, why))
        except UnreadableError:
            return granted(why)
    assert known.after is not None
    known.after.check(loader)
    _finished[loader] = known
    return known


def _own(given: Any) -> Collation:
    pad: tuple[Any, ...] = ()
    if isinstance(given, Pad):
        pad = given.batch_first, given.padding_value, given.pad_to_multiple_of, given.lengths
    return Collation(repr(given), type(given), pad, given.fields)
