"""Whether recipes can be recorded and carried out with the libraries as they stand in this process."""

from __future__ import annotations

import torch

from ...plan import neutral
from ...plan.refusal import Refusal
from ...plan.trust.originals import is_original
from . import hooks


def refusal(*, hooked: bool = True) -> Refusal | None:
    """Why nothing may be recorded, whatever the dataset; None if it may be tried.

    hooked  look at the functions that are to be hooked, too: 0.1 s when it is first done
    """
    if not is_original(torch.stack, "torch") and hasattr(torch.stack, "__globals__"):
        return Refusal("loader", "torch.stack", "it was replaced", "FUNCTION_REPLACED")
    unhooked = hooks.refusal() if hooked else None
    if unhooked is not None:
        return unhooked
    made = neutral.make_recipes()
    return made if isinstance(made, Refusal) else None
