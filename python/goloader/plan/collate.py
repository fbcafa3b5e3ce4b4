"""Is a batch put together as torch does by default?"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.utils.data._utils import collate

from .refusal import Refusal
from .transforms import is_original

__all__ = ["check", "collates_plainly"]


_TENSOR = torch.empty(0)


def check(loader: Any) -> Refusal | None:
    """None if `loader` puts tuples and dicts of tensors and ints together as torch does by default, else the reason.

    With batch_size=None a sample is handed on as it is, but for tuples: default_convert makes lists of them.
    """
    batched = loader._auto_collation
    want, name = (
        (collate.default_collate, "default_collate") if batched else (collate.default_convert, "default_convert")
    )
    given = loader.collate_fn
    if given is not want:
        text = getattr(given, "__qualname__", type(given).__qualname__)
        return Refusal("collate", text, f"only torch's {name} is known")
    helpers = (want, collate.collate, collate.collate_tensor_fn, collate.collate_int_fn)
    if not all(is_original(function, "torch") for function in helpers):
        return Refusal("collate", name, "torch's own functions were replaced")
    if batched:
        for sample, function in (
            ((), None),
            ({}, None),
            (_TENSOR, collate.collate_tensor_fn),
            (0, collate.collate_int_fn),
        ):
            if _registered(sample) is not function:
                return Refusal("collate", name, f"default_collate_fn_map was changed for {type(sample).__name__}")
    return None


def collates_plainly(sample: Any) -> bool:
    """True if torch's own function makes a batch of samples like this one: a number, or something of numpy's."""
    if isinstance(sample, np.ndarray):
        plain: Any = collate.collate_numpy_array_fn
    elif isinstance(sample, np.generic):
        plain = collate.collate_numpy_scalar_fn
    else:
        plain = collate.collate_float_fn if isinstance(sample, float) else collate.collate_int_fn
    return _registered(sample) is plain and is_original(plain, "torch")


def _registered(sample: Any) -> Any:
    """What collate() would call for a batch of such samples: the exact type first, then the first base in order."""
    table: dict[Any, Any] = collate.default_collate_fn_map
    if type(sample) in table:
        return table[type(sample)]
    return next((function for kind, function in table.items() if isinstance(sample, kind)), None)
