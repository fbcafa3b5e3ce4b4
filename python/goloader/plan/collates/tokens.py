"""transformers' collators of tokens: what they pad, the core pads, and the rest is done with its batch.

    DataLoader(dataset, collate_fn=DataCollatorWithPadding(tokenizer))

A collator is known by its class, or function, and by the code of all that it runs. Samples are dicts of numbers, and of
lists, tensors or arrays of tokens. Trainer's RemoveColumnsCollator around a collator is known too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import torch

from ..refusal import Refusal, RefusalError
from ..row_layouts import STACKED, PadRows, RowLayout
from ..rows import Field
from ..structure import Structure
from ..trust.look import in_class, name_of, own
from ..trust.originals import is_original
from .collation import Lists, check_on_error, stacked, stands, surroundings
from .own import OwnCollate

_MODULE = "transformers.data.data_collator"
_FUNCTIONS = ("default_data_collator", "torch_default_data_collator", "pad_without_fast_tokenizer_warning")
_OF_TOKENIZER = ("pad", "_pad", "_get_padding_truncation_strategies")
_SETTINGS = ("pad_token_id", "pad_token_type_id", "padding_side", "model_input_names")

Put = Callable[[Sequence[Any]], Any]


class TokenCollate(OwnCollate):
    """As plan.collation's Collation. Raises RefusalError for a collator that is not as transformers has it.

    after  draws which tokens of a batch are masked; None if nothing is drawn
    """

    takes_lists: Lists = "all"
    note = "transformers' batches, as Go makes them"

    def __init__(self, given: Any) -> None:
        self.given = given
        self._wrapped, self._options = _unwrapped(given)
        self.name = name_of(self._wrapped)
        self._settings = self._look()
        self._around = surroundings()
        self._rules = _RULES[self.name]
        kept = own(self._wrapped)
        if self.name == "DataCollatorForLanguageModeling" and kept["mlm"]:
            if kept.get("seed") is not None or kept.get("whole_word_mask"):
                raise self._refusal("it has a generator of its own, or masks whole words")
            why = Refusal("collate", self.name, "it draws which tokens are masked", "COLLATE_GOES_ON")
            self.after = Masking(self._wrapped, why)

    @staticmethod
    def takes(given: Any) -> bool:
        """Whether a collate_fn is to be read by this class."""
        module = vars(sys.modules.get(_MODULE, sys))
        wrapped, _ = _unwrapped(given)
        name = name_of(wrapped)
        known = module.get(name) if name in _RULES else None
        return known is not None and (wrapped is known if type(wrapped) is FunctionType else type(wrapped) is known)

    def __str__(self) -> str:
        version = getattr(sys.modules["transformers"], "__version__", "")
        return f"{self.name} of transformers {version}: {self._settings}"

    def unchanged(self) -> bool:
        """True if it is what it was, and its tokenizer too."""
        try:
            same = stands(self._around) and self._look() == self._settings
            return same and (self.after is None or self.after.unchanged())
        except RefusalError:
            return False

    def _refusal(self, why: str, code: str = "COLLATE_OWN") -> RefusalError:
        return RefusalError("collate", self.name, why, code)

    def _look(self) -> dict[str, Any]:
        """What it goes by. Raises RefusalError for what is not as transformers' files have it."""
        module = vars(sys.modules[_MODULE])
        functions = [module.get(name) for name in _FUNCTIONS]
        settings: dict[str, Any] = {**self._options}
        for each in _wrappers(self.given):
            functions += [in_class(type(each), name) for name in ("__call__", "_remove_columns")]
            settings["columns"] = tuple(each.signature_columns)
        if type(self._wrapped) is not FunctionType:
            kept = own(self._wrapped)
            methods = [name for name in ("__call__", "torch_call") if in_class(type(self._wrapped), name) is not None]
            functions += [in_class(type(self._wrapped), name) for name in methods]
            if kept.keys() & {*methods}:
                raise self._refusal("its methods were replaced", "FUNCTION_REPLACED")
            settings |= {name: value for name, value in kept.items() if type(value) in _PLAIN}
            if (model := kept.get("model")) is not None:
                prepare = in_class(type(model), _PREPARE)
                functions += [] if prepare is None else [prepare]
                settings["model"] = id(model)
            if (tokenizer := kept.get("tokenizer")) is not None:
                functions += [in_class(type(tokenizer), name) for name in _OF_TOKENIZER]
                functions.append(_batches().convert_to_tensors)
                if own(tokenizer).keys() & {*_OF_TOKENIZER}:
                    raise self._refusal("methods of its tokenizer were replaced", "FUNCTION_REPLACED")
                settings |= {name: _setting(tokenizer, name) for name in _SETTINGS}
        if not all(is_original(each, "transformers") for each in functions):
            raise self._refusal("functions of transformers were replaced", "FUNCTION_REPLACED")
        if settings.get("return_tensors", "pt") != "pt":
            raise self._refusal(f"it returns {settings['return_tensors']!r}, not tensors")
        return settings

    def lay(
        self,
        fields: Sequence[Field],
        structure: Structure,
        sample: Any,
        size: int | None = None,
        listed: Collection[int] = (),
    ) -> tuple[tuple[Field, ...], Put]:
        """As OwnCollate's. Raises RefusalError for samples of which it is not known what the collator makes."""
        if not fields or listed or type(structure) is not dict or not isinstance(sample, Mapping):
            raise self._refusal("samples are no dicts of numbers and of tokens")
        if any(len(field.views) != 1 or field.views[0].layout is not STACKED or field.extents for field in fields):
            raise self._refusal("samples are more than numbers and tokens")
        of = {number: field for field in fields for view in field.views for number in view.columns}
        parts: dict[str, _Part] = {}
        for name, number in structure.items():
            if type(number) is not int or number not in of or type(name) is not str:
                raise self._refusal("samples are no dicts of numbers and of tokens")
            parts[name] = _Part(number, of[number], sample[name])
        for each in _wrappers(self.given):
            each._remove_columns(dict(sample))  # which tells, once, of what is left out
            parts = {name: part for name, part in parts.items() if name in each.signature_columns}
        batch = _Batch(self.name, self._settings, parts)
        self._rules(batch, self._settings, self._wrapped)
        return batch.laid(fields), batch.put


def _batches() -> Any:
    """The class of what tokenizer.pad gives."""
    return sys.modules["transformers.tokenization_utils_base"].BatchEncoding


_PREPARE = "prepare_decoder_input_ids_from_labels"
_PLAIN = (type(None), bool, int, float, str)


def _setting(tokenizer: Any, name: str) -> Any:
    try:
        value = getattr(tokenizer, name)
    except Exception:  # code of the tokenizer's, which raises it for a batch too
        return None
    return tuple(value) if type(value) is list else value


def _wrappers(given: Any) -> list[Any]:
    """Trainer's collators around one, from the outermost."""
    kind = vars(sys.modules.get("transformers.trainer_utils", sys)).get("RemoveColumnsCollator")
    found = []
    while kind is not None and type(given) is kind:
        found.append(given)
        given = own(given).get("data_collator")
    return found


def _unwrapped(given: Any) -> tuple[Any, dict[str, Any]]:
    """The collator in Trainer's, and options that it is called with."""
    wrappers = _wrappers(given)
    inner = own(wrappers[-1]).get("data_collator") if wrappers else given
    if type(inner) is partial and not inner.args and set(inner.keywords) <= {"return_tensors"}:
        return inner.func, dict(inner.keywords)
    return inner, {}


class Masking:
    """Draws which tokens of a batch are masked, as Python does: what a collator does with a padded batch."""

    mixes = False

    def __init__(self, given: Any, why: Refusal) -> None:
        self.given, self.why = given, why
        if not self.unchanged():
            raise RefusalError("collate", name_of(given), "its methods were replaced", "FUNCTION_REPLACED")
        self.codes: list[CodeType] = [in_class(type(given), "torch_mask_tokens").__code__]

    def check(self, loader: Any) -> None:
        """Raises RefusalError where samples that are left out would make a difference."""
        check_on_error(loader, self.given)

    def unchanged(self) -> bool:
        mask = in_class(type(self.given), "torch_mask_tokens")
        return is_original(mask, "transformers") and "torch_mask_tokens" not in own(self.given)

    def __call__(self, batch: Any, count: int) -> Any:
        """The batch with its masked tokens, and labels."""
        options = {name: batch.pop(name, None) for name in ("special_tokens_mask", "offset_mapping")}
        names = self.codes[0].co_varnames[: self.codes[0].co_argcount]
        options = {name: value for name, value in options.items() if name in names}
        batch["input_ids"], batch["labels"] = self.given.torch_mask_tokens(batch["input_ids"], **options)
        return batch


@dataclass(frozen=True)
class _Part:
    """A field of the samples: its number, where it is, and what it is of the first sample."""

    number: int
    field: Field
    sample: Any

    @property
    def dtype(self) -> str:
        return self.field.torch or self.field.dtype

    @property
    def is_row(self) -> bool:
        """Whether it is one sequence of numbers."""
        return (self.field.ragged and not self.field.shape) or (not self.field.ragged and len(self.field.shape) == 1)

    @property
    def is_list(self) -> bool:
        return type(self.sample) is list

    def lengths(self) -> Any:
        """Of each sample's numbers."""
        if not self.field.ragged:
            return np.full(1, self.field.shape[0], np.int64)
        whole = np.concatenate([array.lengths for array in self.field.arrays])
        return whole if self.field.index is None else whole[self.field.index[self.field.index >= 0]]


class _Batch:
    """What a collator makes of the fields of samples: names in order, each with how it is made of the columns."""

    def __init__(self, name: str, settings: dict[str, Any], parts: dict[str, _Part]) -> None:
        self._name, self._settings, self._parts = name, settings, parts
        self._layouts: dict[int, tuple[int, RowLayout]] = {}
        self._made: dict[str, Put] = {}
        self._kind: Callable[[dict[str, Any]], Any] = dict
        self._behind: list[Callable[[Any], None]] = []

    def refusal(self, why: str, code: str = "COLLATE_OWN") -> RefusalError:
        return RefusalError("collate", self._name, why, code)

    def put(self, columns: Sequence[Any]) -> Any:
        """The batch of the core's columns."""
        batch = self._kind({name: make(columns) for name, make in self._made.items()})
        for do in self._behind:
            do(batch)
        return batch

    def laid(self, fields: Sequence[Field]) -> tuple[Field, ...]:
        """The fields that are used, with their layouts."""
        laid = []
        for field in fields:
            (view,) = field.views
            columns = [number for number in view.columns if number in self._layouts]
            if not columns and field.may_fail:
                raise self.refusal("it leaves out what is worked out, or read of files, and may fail")
            if not columns:
                continue
            if len(view.columns) > 1:
                raise self.refusal("several of a sample's values are one")
            place, layout = self._layouts[columns[0]]
            made = replace(view, columns=(place,), layout=layout)
            laid.append(replace(stacked(field) if layout is STACKED else field, views=(made,)))
        if not laid:
            raise self.refusal("it makes nothing of the samples")
        return tuple(laid)

    def _column(self, part: _Part, layout: RowLayout) -> Callable[[Sequence[Any]], Any]:
        if part.number in self._layouts:
            raise self.refusal("it uses a value twice")
        place = len(self._layouts)
        self._layouts[part.number] = place, layout
        return lambda columns: columns[place]

    # What collators do

    def stack(self, name: str, part: _Part, dtype: Callable[[], torch.dtype]) -> None:
        """A tensor of numbers, or of sequences that are all of one length, in a dtype."""
        if part.field.ragged and len(np.unique(part.lengths())) > 1:
            raise self.refusal(f"{name!r} differs in length, and it does not pad that", "ROWS_DIFFER")
        column = self._column(part, STACKED)
        self._made[name] = lambda columns: column(columns).to(dtype())

    def pad(self, name: str, part: _Part, value: Any, multiple: int = 1, *, least: int = 1, ones: bool = False) -> None:
        """Sequences of int64, padded. `least`: numbers that each has at least; `ones`: a mask is made of lengths."""
        if not part.is_row or part.dtype != "int64" or type(part.sample) not in (list, torch.Tensor, np.ndarray):
            raise self.refusal(f"{name!r} is no sequence of int64 numbers")
        if type(value) is not int:
            raise self.refusal(f"there is no number to pad {name!r} with", "COLLATE_PADDING")
        if len(lengths := part.lengths()) and lengths.min() < least:
            raise self.refusal(f"{name!r} of a sample is empty", "ROWS_DIFFER")
        left = self._settings.get("padding_side") == "left"
        layout = PadRows(True, np.array(value, np.int64).tobytes(), multiple, ones, left=left)
        column = self._column(part, layout)
        self._made[name] = (lambda columns: column(columns)[0]) if ones else column
        if ones:
            self._made["attention_mask"] = lambda columns: _mask(*column(columns), left=left)

    def tokens(self, parts: dict[str, _Part], *, padding: Any = True, max_length: Any = None) -> int:
        """What tokenizer.pad makes; gives what lengths are rounded up to."""
        settings = self._settings
        names, step = settings["model_input_names"] or ("",), settings.get("pad_to_multiple_of") or 1
        padded = {names[0]: settings["pad_token_id"], "token_type_ids": settings["pad_token_type_id"]}
        padded |= {"special_tokens_mask": 1}
        masks = "attention_mask" in names
        if masks:
            padded["attention_mask"] = 0
        if names[0] not in parts or not parts[names[0]].is_row:
            raise self.refusal(f"samples have no {names[0]!r}, or it is no sequence")
        lengths = parts[names[0]].lengths()
        rows = {name: part for name, part in parts.items() if name in padded}
        if any(not part.is_row or not _alike(part.lengths(), lengths) for part in rows.values()):
            raise self.refusal(f"lengths of a sample's {', '.join(rows)} differ", "ROWS_DIFFER")
        multiple = self._multiple(padding, max_length, step, lengths)
        for name, part in parts.items():
            if name in padded:
                makes = name == names[0] and masks and "attention_mask" not in parts
                self.pad(name, part, padded[name], multiple, ones=makes)
            else:
                self.stack(name, part, _dtype_of(part, self))
        if "attention_mask" in self._made and "attention_mask" not in parts:
            self._made["attention_mask"] = self._made.pop("attention_mask")
        self._kind = _batches()
        return multiple

    def _multiple(self, padding: Any, max_length: Any, step: int, lengths: Any) -> int:
        """What the longest of a batch is rounded up to."""
        how = {True: "longest", False: "do_not_pad"}.get(padding, padding)
        if how == "longest" and max_length is None:
            return step
        if how == "do_not_pad" and max_length is None and len(np.unique(lengths)) <= 1:
            return 1
        if how == "max_length" and type(max_length) is int and max_length > 0:
            whole = -(-max_length // step) * step
            late = any(array.late for part in self._parts.values() for array in part.field.arrays)
            if not late and (not len(lengths) or lengths.max() <= whole):
                return whole
        raise self.refusal(f"it pads by {padding!r}, with max_length={max_length}", "COLLATE_PADDING")

    def rename(self, name: str, to: str) -> None:
        if name in self._made:
            self._made[to] = self._made.pop(name)

    def give(self, name: str, value: Any) -> None:
        """What is the same for all batches."""
        self._made[name] = lambda columns: value

    def then(self, do: Callable[[Any], None]) -> None:
        """Does something with each batch."""
        self._behind.append(do)


def _alike(one: Any, other: Any) -> bool:
    """Whether lengths are the same; those that do not differ may be given once."""
    if min(len(one), len(other)) == 1:
        one, other = np.unique(one), np.unique(other)
    return np.array_equal(one, other)


def _mask(rows: torch.Tensor, lengths: torch.Tensor, *, left: bool) -> torch.Tensor:
    """1 for tokens, 0 for padding."""
    places = torch.arange(rows.shape[1])
    if left:
        return (places >= rows.shape[1] - lengths[:, None]).long()
    return (places < lengths[:, None]).long()


def _dtype_of(part: _Part, batch: _Batch) -> Callable[[], torch.dtype]:
    """What torch.tensor makes of Python's numbers."""
    kind = (
        "bool" if part.dtype == "bool" else "float" if "float" in part.dtype else "int" if "int" in part.dtype else ""
    )
    if not kind or type(part.sample) not in (list, int, float, bool, torch.Tensor, np.ndarray, np.int64):
        raise batch.refusal(f"samples have {part.dtype} in a {type(part.sample).__name__}")
    if kind == "float":
        return torch.get_default_dtype
    return {"bool": lambda: torch.bool, "int": lambda: torch.int64}[kind]


# By the collators' names


def _default(batch: _Batch, settings: dict[str, Any], given: Any) -> None:
    parts = dict(batch._parts)
    label, ids = parts.pop("label", None), parts.pop("label_ids", None)
    if label is not None:
        if label.field.shape or label.field.ragged or label.dtype == "bool":
            raise batch.refusal("a label is no number")
        of_ints = "int" in label.dtype
        batch.stack("labels", label, lambda: torch.int64 if of_ints else torch.float32)
    elif ids is not None:
        if type(ids.sample) is torch.Tensor:
            kept = ids.dtype
            batch.stack("labels", ids, lambda: getattr(torch, kept))
        elif ids.is_list and ids.dtype in ("int64", "float64", "float32"):
            of_ints = ids.dtype == "int64"
            batch.stack("labels", ids, lambda: torch.int64 if of_ints else torch.float32)
        else:
            raise batch.refusal("label_ids are no lists of numbers")
    for name, part in parts.items():
        if type(part.sample) in (torch.Tensor, np.ndarray):
            kept = part.dtype
            batch.stack(name, part, partial(getattr, torch, kept))
        else:
            batch.stack(name, part, _dtype_of(part, batch))


def _with_padding(batch: _Batch, settings: dict[str, Any], given: Any) -> None:
    batch.tokens(batch._parts, padding=own(given)["padding"], max_length=settings["max_length"])
    batch.rename("label", "labels")
    batch.rename("label_ids", "labels")


def _labelled(parts: dict[str, _Part]) -> tuple[str, _Part | None, dict[str, _Part]]:
    """The name of labels, these, and all else."""
    name = "label" if "label" in parts else "labels"
    return name, parts.get(name), {each: part for each, part in parts.items() if each != name}


def _token_classification(batch: _Batch, settings: dict[str, Any], given: Any) -> None:
    name, labels, parts = _labelled(batch._parts)
    multiple = batch.tokens(parts, padding=own(given)["padding"], max_length=settings["max_length"])
    if labels is not None:
        if not labels.is_row or not _alike(labels.lengths(), parts["input_ids"].lengths()):
            raise batch.refusal("labels are not as many as tokens", "ROWS_DIFFER")
        batch.pad(name, labels, settings["label_pad_token_id"], multiple)


def _seq2seq(batch: _Batch, settings: dict[str, Any], given: Any) -> None:
    _, labels, parts = _labelled(batch._parts)
    padding, max_length = own(given)["padding"], settings["max_length"]
    batch.tokens(parts, padding=padding, max_length=max_length)
    if labels is None:
        batch.give("labels", None)
        return
    if not labels.is_row:
        raise batch.refusal("labels are no sequences")
    if padding is False or padding == "do_not_pad":
        raise batch.refusal("it does not pad labels", "COLLATE_PADDING")
    step = settings["pad_to_multiple_of"] or 1
    multiple = batch._multiple(padding, max_length, step, labels.lengths())
    batch.pad("labels", labels, settings["label_pad_token_id"], multiple, least=0)
    model = own(given)["model"]
    if model is not None and hasattr(model, _PREPARE):

        def prepare(made: Any) -> None:
            made["decoder_input_ids"] = getattr(model, _PREPARE)(labels=made["labels"])

        batch.then(prepare)


def _language_modeling(batch: _Batch, settings: dict[str, Any], given: Any) -> None:
    batch.tokens(batch._parts)
    if settings["mlm"]:
        return
    pad = settings["pad_token_id"]

    def label(made: Any) -> None:
        for name in ("special_tokens_mask", "offset_mapping"):
            made.pop(name, None)
        labels = made["input_ids"].clone()
        if pad is not None:
            labels[labels == pad] = -100
        made["labels"] = labels

    batch.then(label)


_RULES: dict[str, Callable[[_Batch, dict[str, Any], Any], None]] = {
    "DataCollatorForLanguageModeling": _language_modeling,
    "DataCollatorForSeq2Seq": _seq2seq,
    "DataCollatorForTokenClassification": _token_classification,
    "DataCollatorWithPadding": _with_padding,
    "DefaultDataCollator": _default,
    "default_data_collator": _default,
}
