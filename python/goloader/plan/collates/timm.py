"""timm's fast_collate: uint8 images in one tensor, or several of each sample one behind the other, and labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch.utils.data import default_collate

from ..refusal import RefusalError
from ..rows import Field
from ..structure import Structure, collated
from ..trust.look import name_of
from ..trust.originals import is_original
from .collation import Lists, stands, surroundings
from .own import OwnCollate

# A batch that the function is tried on: samples, height, width.
_TRIED = (3, 2, 5)


class FastCollate(OwnCollate):
    """For samples of one uint8 image or a tuple of such, and an int.

    Raises RefusalError for a function that timm's file does not have so.
    """

    takes_lists: Lists = ""
    note = "timm's, whose batches Go makes as they are"

    def __init__(self, given: Any) -> None:
        self.given = given
        self.name = name_of(given)
        self._around = surroundings()
        if not self._is_timms():
            raise RefusalError("collate", self.name, "it is not as timm has it", "FUNCTION_REPLACED")

    @staticmethod
    def takes(given: Any) -> bool:
        """Whether a collate_fn is to be read by this class."""
        return is_original(given, "timm") and given.__name__ == "fast_collate"

    def __str__(self) -> str:
        return self.name

    def _is_timms(self) -> bool:
        names = self.given.__globals__
        return is_original(self.given, "timm") and names.get("default_collate", default_collate) is default_collate

    def unchanged(self) -> bool:
        """True if it is what it was, and torch's default_collate too."""
        return self._is_timms() and stands(self._around)

    def lay(
        self,
        fields: Sequence[Field],
        structure: Structure,
        sample: Any,
        size: int | None = None,
        listed: Collection[int] = (),
    ) -> tuple[tuple[Field, ...], Callable[[Sequence[Any]], Any]]:
        """As OwnCollate's: what makes the batch of default_collate's columns. Raises RefusalError."""
        images, label = sample if type(sample) is tuple and len(sample) == 2 else (None, None)
        views = images if type(images) is tuple else (images,)
        plain = all(type(each) is torch.Tensor and each.dtype is torch.uint8 and each.ndim == 3 for each in views)
        if fields or listed or not plain or type(label) is not int:
            raise RefusalError("collate", self.name, "samples are more than uint8 images and an int", "COLLATE_OWN")

        def put(columns: Sequence[Any]) -> Any:
            made, labels = collated(structure, columns)
            if type(images) is not tuple:
                return made, labels
            return torch.cat(list(made)), labels.repeat(len(made))

        count, *extent = _TRIED
        tried = [
            [torch.arange(n, n + 3 * extent[0] * extent[1], dtype=torch.uint8).view(3, *extent) for n in range(count)]
            for _ in views
        ]
        given = [(view if type(images) is tuple else view[0], n) for n, view in enumerate(zip(*tried, strict=True))]
        want = self.given(given)
        got = put([*map(torch.stack, tried), torch.arange(count)])
        if type(want) is not tuple or not all(map(torch.equal, want, got)) or want[1].dtype is not torch.int64:
            raise RefusalError("collate", self.name, "it makes other batches than those known", "COLLATE_OWN")
        return (), put
