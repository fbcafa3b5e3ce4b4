"""What Ray Data keeps private: which execution of a dataset its tasks belong to."""

from __future__ import annotations

import sys


def execution() -> int:
    """How often datasets that come of the same reading were executed before, 0 outside of Ray Data.

    All tasks of an execution are told the same, also one that is tried again.

    Raises RuntimeError if this version of Ray does not say.
    """
    data = sys.modules.get("ray.data")
    if data is None:
        return 0
    number = getattr(data.DataContext.get_current(), "_execution_idx", None)
    if not isinstance(number, int):
        raise RuntimeError("this version of Ray does not say which execution of the dataset it is: give epoch=")
    return number
