"""Turns datasets into sources: `lower(dataset)` says where samples are, and which sample an index means.

    samples.py  the result: Images (files and labels) or Arrays (rows of arrays); beside.py, fields that Python makes,
                cuts.py, fields of the same rows
    tree.py     torch's Subset, ConcatDataset and StackDataset over the leaves below
    known/      classes of libraries, and goloader's own
    own/        classes of the user's own, which read files by the functions in
    reads/      and are compiled by
    computed/   if they make samples of arrays, or by
    script/     if they make samples of images, draw or branch

A dataset is known by its class. A subclass is taken only if it changes nothing that is done for an index. A user's own
class is taken if its bytecode allows it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from torch.utils.data import Subset, TensorDataset

from ...arrays import ArrayDataset, TokenDataset
from ..bytecode import UnreadableError
from ..collates.collation import Lists
from ..refusal import Refusal, RefusalError, SourceRefusal, granted
from ..trust.look import is_a
from .computed import Computed, in_lists
from .known import arrays, hugging_face, image_folders, masks, s3torchconnector, tokens
from .known.left_to_python import why_not
from .known.tensors import Tensors
from .own.code import ListItems, OwnCode, refusal
from .own.kept import Kept, Shared
from .reads import array_readers
from .reads.images import opens_images
from .samples import IN_LISTS, Arrays, Images, PairPart, Part, Samples
from .script import ScriptCode, Scripted, ScriptPart, Scripts
from .tree import Leaves, Node, name_of, node

__all__ = ["IN_LISTS", "Arrays", "Images", "Part", "Samples", "Scripts", "fails_ahead", "lower"]

# Share of files that only Pillow reads from which torch's worker processes are faster than one Pillow here.
FOREIGN_SHARE_MAX = 0.05


def lower(
    dataset: Any,
    *,
    lists: bool = True,
    rows: Lists = "",
    workers: int = 0,
    size: int | None = None,
    shared: Shared = "",
) -> Samples | Refusal:
    """Where the samples of `dataset` are, or the reason why torch's own path has to load it.

    lists    whether samples that are in lists already are of any use
    rows     which lists of numbers that samples have are rows
    workers  processes that torch's loader would have, and
    size     samples of a batch, which say whether to make samples ahead is of any use
    shared   how what takes workers long may be had from them
    """
    alone = dataset
    while type(alone) is Subset:
        alone = alone.dataset
    try:
        root, leaves = _tree(
            dataset, lambda leaf: _known_or_kept(leaf, lists or leaf is not alone, rows, workers, size, shared)
        )
        made = list(leaves.known.values())
        images = [column.spec in (Part, PairPart) for column in root.columns]
        if any(column.spec is ScriptPart for column in root.columns):
            if len(root.columns) > 1:
                return Refusal("source", name_of(dataset), "it has images beside other fields", "FIELDS")
            samples: Scripts | Images = Scripts(root, made)
        elif not any(images):
            return Arrays(root, made)
        elif images != [True]:
            return Refusal("source", name_of(dataset), "it has images beside other fields", "FIELDS")
        else:
            samples = Images(root, made)
    except RefusalError as refused:
        return refused.refusal
    if samples.foreign > FOREIGN_SHARE_MAX:
        return Refusal(
            "source",
            name_of(dataset),
            f"{samples.foreign:.0%} of its files are of kinds that only Pillow reads; torch's workers read in parallel",
            "FOREIGN_FILES",
        )
    return samples


def _tree(dataset: Any, make: Callable[[Any], Node]) -> tuple[Node, Leaves]:
    """Raises RefusalError."""
    leaves = Leaves(make)
    try:
        return node(dataset, leaves), leaves
    except RefusalError as refused:
        kinds = {column.spec for leaf in leaves.known.values() for column in leaf.columns}
        if refused.refusal.code != "PARTS_DIFFER" or ScriptPart not in kinds or Part not in kinds:
            raise
        why = refused.refusal
    leaves = Leaves(lambda leaf: _scripted(_script_code(leaf)))  # as one of them is: these the core joins
    with suppress(RefusalError):
        return node(dataset, leaves), leaves
    return granted(why)


def _known_or_kept(dataset: Any, lists: bool, rows: Lists, workers: int, size: int | None, shared: Shared) -> Node:
    """Raises RefusalError."""
    try:
        return _leaf(dataset, lists=lists, rows=rows)
    except RefusalError as refused:
        if refused.refusal.code != "CODE_UNREAD" or type(dataset) in (list, tuple):
            raise
        why = refused.refusal
    return Kept(dataset, why, rows=rows, workers=workers, size=size, shared=shared)


def _leaf(dataset: Any, *, lists: bool, rows: Lists) -> Node:
    if is_a(dataset, TensorDataset):
        return Tensors(dataset)
    if is_a(dataset, ArrayDataset):
        return arrays.Rows(dataset)
    if is_a(dataset, TokenDataset):
        return tokens.Tokens(dataset)
    if hugging_face.is_table(dataset):
        return hugging_face.Table(dataset, rows=rows)
    wrapped = masks.wrapped(dataset)
    if wrapped is not None:
        own = OwnCode(wrapped)
        return masks.Masks(own, masks.pair_of(own), dataset)
    if image_folders.is_folder(dataset):
        try:
            return image_folders.ImageFiles(dataset)
        except RefusalError:
            # Its class is known, but something in it is the user's own: the code may say what.
            try:
                return _of_code(dataset, lists=lists, rows=rows)
            except RefusalError:
                if type(dataset).__module__.partition(".")[0] != "torchvision":
                    raise
            raise
    if type(dataset) in (list, tuple):
        return _computed(ListItems(dataset), lists=lists, rows=rows)
    if s3torchconnector.is_dataset(dataset):
        try:
            s3torchconnector.list_objects(dataset)
        except UnreadableError as error:
            raise refusal(dataset, str(error)) from None
    left = why_not(dataset)
    if left:
        raise SourceRefusal(name_of(dataset), left, "CLASS_LEFT")
    return _of_code(dataset, lists=lists, rows=rows)


def _of_code(dataset: Any, *, lists: bool, rows: Lists) -> Node:
    """What the code of a dataset says. Raises RefusalError."""
    try:
        own = OwnCode(dataset)
        pair = masks.pair_of(own)
        if pair is not None:
            return masks.Masks(own, pair)
        opens = opens_images(own)
        if own.reading.asserted and not opens:
            return _computed(own, lists=lists, rows=rows)
    except RefusalError:
        # An error that is raised again by who has it as an argument would keep its frames, and all that they hold.
        made = _script(_script_code(dataset))
        if made is None:
            raise
        return made
    if opens:
        return _scripted(_script_code(dataset))
    code, refused = None, None
    if "cv2" in sys.modules:  # which may read an image
        try:
            code = _script_code(dataset)
            if code.opens_images:
                return _scripted(code)
        except RefusalError as error:
            refused = error.refusal
    try:
        return _computed(own, lists=lists, rows=rows)
    except RefusalError as error:
        if error.refusal.code == "IN_LISTS":
            raise
        if refused is None:
            made = _script(code or _script_code(dataset))
            if made is None:
                raise
            return made
    return granted(refused)  # what it says of images


_READERS = {each.name for each in array_readers.READERS}


def _script(code: ScriptCode) -> Node | None:
    """Code as a script; None of what is none, and does nothing that scripts alone do. Raises RefusalError."""
    try:
        return _scripted(code)
    except RefusalError:
        if code.does_more:
            raise
    return None


def _computed(own: OwnCode | ListItems, *, lists: bool, rows: Lists) -> Node:
    """Raises RefusalError."""
    if not lists and in_lists(own):
        raise SourceRefusal(name_of(own.dataset), IN_LISTS, "IN_LISTS")
    # What is not understood shows before values are worked out for all indices, which takes long; but for files, of
    # which one does not show whether all are alike.
    if isinstance(own, OwnCode) and not any(_READERS.intersection(each.__code__.co_names) for each in own.functions):
        made = Computed(own, most=1, rows=rows)
        if not made.works_ahead:
            return made
    return Computed(own, rows=rows)


def _script_code(dataset: Any) -> ScriptCode:
    """What its code says as a script. Raises RefusalError."""
    if "cv2" in sys.modules:  # whose arrays are looked at as Pillow's images
        with suppress(ImportError):
            import PIL.Image  # noqa: F401
    return ScriptCode(dataset)


def _scripted(code: ScriptCode) -> Node:
    """Raises RefusalError."""
    try:
        return Scripted(code)
    except RefusalError:
        if not code.turns or code.by_turns:
            raise
    return Scripted(ScriptCode(code.dataset, by_turns=True))


def fails_ahead(dataset: Any, indices: Any) -> bool:
    """True if `dataset` fails to look an index of the batch up before it loads the first sample.

    A Subset of a Subset hands the whole batch down (Subset.__getitems__): all look-ups but the last come first.
    """
    while type(dataset) is Subset and type(dataset.dataset) is Subset:
        try:
            indices = [dataset.indices[i] for i in indices]
        except Exception:  # whatever it is, the dataset raises it again
            return True
        dataset = dataset.dataset
    return False
