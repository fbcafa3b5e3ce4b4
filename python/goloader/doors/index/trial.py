"""Checks a plan: a forked child makes a few samples with the core and with the dataset itself, and compares them.

This happens once for each combination of dataset, transforms, library versions, goloader's own library and processor;
success is kept on disk. Go makes the batches meanwhile. If samples differ, the user is warned, and later epochs run as
with torch.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import random
import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import _utils

from ... import _told
from ..._core import Core
from ..._native import own_library
from ...plan import Plan, Refusal
from ...plan.collates.collation import as_in_worker
from ...plan.datasets import Scripts
from ...plan.trust.look import name_of
from ...selfcheck import libraries, memory
from ...state.generators import Processes
from .. import sandbox

if TYPE_CHECKING:
    from ..._loader import DataLoader

_SAMPLES = 4
# Of a script, which goes a way of its own with each sample.
_SAMPLES_OF_SCRIPTS = 16
_SEED = 20260701
# Nobody waits for the answer, so the training loop comes first. A trial of recording is not held back so: its answer
# halves what batches cost, and at this niceness it came two to three times as many batches later on two busy cores.
_NICENESS = 10

# What the child answers where nothing differs, and how that is kept on disk.
_EQUAL = "equal"
_KIND, _KEPT_MAX = "trials", 1000

# Kinds of plans that were tried, or are being tried; why some of them are not to be used.
_known: set[str] = set()
_refused: dict[str, Refusal] = {}
# What names the kind of each plan, which takes as long as writing it as JSON.
_keys: weakref.WeakKeyDictionary[Plan, str] = weakref.WeakKeyDictionary()
# Trials that have not been heard: to hear() is of use while there are some.
running: dict[str, sandbox.Page] = {}

_LIBRARIES = ("torch", "torchvision", "PIL", "numpy", "cv2", "albumentations", "datasets", "transformers")


def refused(loader: DataLoader[Any], plan: Plan) -> Refusal | None:
    """Why a plan is not to be used, as trials have found that were heard."""
    return _refused.get(_key(loader, plan)) if _refused else None


# Makes an iterator that asks the core for each batch in the training thread.
Inline = Callable[["DataLoader[Any]", Core], Any]


def begin(loader: DataLoader[Any], plan: Plan, inline: Inline) -> None:
    """Begins a trial of a plan, if there is anything to try, and no plan of its kind was tried before."""
    own = (plan.collation is not None and plan.collation.own) or (plan.samples is not None and plan.samples.tried)
    copied = not own and plan.kind == "array" and all(field.program is None for field in plan.fields)
    if copied or plan.length == 0 or sandbox.here():
        return
    key = _key(loader, plan)
    if key in _known:
        return
    _known.add(key)
    if not sandbox.WAITS and memory.find(_KIND, key) is not None:
        return
    page = sandbox.Page()
    try:
        sandbox.begin(page, lambda: _tried(loader, plan, inline))
    except OSError:  # no process can be forked
        return
    running[key] = page


@atexit.register
def _end() -> None:
    """No child of a trial outlives the program."""
    for page in running.values():
        page.close()


def hear() -> None:
    """Takes the answers of trials that have ended."""
    for key, page in list(running.items()):
        try:
            found = page.take()
        except LookupError:
            found = ""
        if found is None:
            continue
        del running[key]
        if found == _EQUAL:
            memory.keep(_KIND, key, {}, _KEPT_MAX)
        elif found:
            kind, text = found
            _refuse(
                key,
                Refusal("source", kind, f"{text} when Go makes it", "SAMPLES_DIFFER"),
                "It runs as torch's from the next epoch on. ",
            )


def refuse(loader: DataLoader[Any], plan: Plan, code: str, why: str) -> Refusal:
    """Plans of its kind are not to be used from now on, of which the user is told."""
    refusal = Refusal("source", type(loader.dataset).__name__, why, code)
    _refuse(_key(loader, plan), refusal, "")
    return refusal


def _refuse(key: str, refusal: Refusal, since: str) -> None:
    _refused[key] = refusal
    _told.stopped(refusal, f"{since}Please report this, with {_versions()}.")


def _key(loader: DataLoader[Any], plan: Plan) -> str:
    """Names the kind of a plan: neither its files nor its length matter."""
    if plan not in _keys:
        _keys[plan] = _named(loader, plan)
    return _keys[plan]


def _named(loader: DataLoader[Any], plan: Plan) -> str:
    whole = json.loads(plan.to_json())
    for part in whole["parts"]:
        del part["count"]
    kind = type(loader.dataset)
    code = getattr(vars(kind).get("__getitem__"), "__code__", None)
    named = [kind.__module__, kind.__qualname__, "" if code is None else code.co_code.hex(), _versions()]
    if plan.collation is not None and plan.collation.own:
        named += [str(plan.collation), plan.dtypes]
    if isinstance(plan.samples, Scripts):
        named += [code.hex() for code in plan.samples.codes]
    if plan.after is not None:
        named += [name_of(plan.after.given), *(each.co_code.hex() for each in plan.after.codes)]
    programs = [field.get("program") for field in whole["source"].get("fields", ())]
    return hashlib.sha256(
        json.dumps(
            [named, whole["parts"], whole["output"], whole["source"]["kind"], programs, libraries.core()]
        ).encode()
    ).hexdigest()


def _versions() -> str:
    modules = ((name, sys.modules.get(name)) for name in _LIBRARIES)
    return ", ".join(f"{name} {getattr(module, '__version__', '?')}" for name, module in modules if module is not None)


def _tried(loader: DataLoader[Any], plan: Plan, inline: Inline) -> tuple[str, str] | str:
    """What differs, and in what; _EQUAL for nothing, "" where the dataset itself fails."""
    with contextlib.suppress(OSError):  # a system may forbid it
        os.nice(_NICENESS)
    length = plan.length
    count = _SAMPLES if plan.script is None else _SAMPLES_OF_SCRIPTS
    indices = sorted({round(place * (length - 1) / (count - 1)) for place in range(count)})
    indices = [index for index in indices if _is_made(plan, index)]
    try:
        found = _differ(loader, plan, indices, inline)
        if found and not (_stands(loader, plan) and _differ(loader, plan, indices, inline)):
            return ""  # somebody changed files meanwhile
    except Exception:  # a file that cannot be read, a class that cannot be pickled
        return ""
    return (type(loader.dataset).__qualname__, found) if found else _EQUAL


def _stands(loader: DataLoader[Any], plan: Plan) -> bool:
    """Whether the dataset is still what the plan was made of."""
    return plan.samples is None or plan.samples.unchanged(loader.dataset)


def _differ(loader: DataLoader[Any], plan: Plan, indices: list[int], inline: Inline) -> str | None:
    """What differs in a batch of these indices; None for nothing."""
    from ..same import difference  # it needs Pillow

    theirs, ours = sandbox.run_apart(
        lambda: _eager(loader, plan, indices), lambda: _native(loader, plan, indices, inline)
    )
    if not np.array_equal(theirs[1], ours[1]):
        return "a random generator stands elsewhere"
    batch = theirs[0]
    if plan.collation is not None and plan.collation.plain and plan.batched and loader.num_workers > 0:
        batch = as_in_worker(batch)
    return difference(batch, ours[0])


def _is_made(plan: Plan, index: int) -> bool:
    """Whether Go makes the sample: a Subset may list some that only its dataset knows."""
    try:
        return bool(len(plan.resolve(np.array([index], np.int64))))
    except IndexError:
        return False


def _seed() -> None:
    torch.manual_seed(_SEED)
    random.seed(_SEED)
    np.random.seed(_SEED)


def _states(plan: Plan) -> NDArray[np.uint8]:
    return Processes(objects=() if plan.script is None else plan.script.objects).data


def _eager(loader: DataLoader[Any], plan: Plan, indices: list[int]) -> tuple[Any, NDArray[np.uint8]]:
    with sandbox.restrict():
        _seed()
        arguments = loader._auto_collation, loader.collate_fn, loader.drop_last
        fetcher = _utils.fetch._MapDatasetFetcher(loader.dataset, *arguments)
        asked = indices if loader._auto_collation else indices[0]
        return fetcher.fetch(asked), _states(plan)


def _native(loader: DataLoader[Any], plan: Plan, indices: list[int], inline: Inline) -> tuple[Any, NDArray[np.uint8]]:
    core = Core(plan, own_library())
    loader.__dict__ |= {"timeout": 0, "on_error": "raise", "rng": None}
    iterator = inline(loader, core)
    iterator._pin_memory = False
    with sandbox.restrict():
        _seed()
        asked = np.array(indices if loader._auto_collation else indices[0], np.int64)
        return iterator.batch(asked), _states(plan)
