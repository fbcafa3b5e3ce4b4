"""Tokenizers, which the code of a dataset may call: transformers' fast ones, and those of the library tokenizers.

They give the same for a text as long as their settings are the same, and change nothing but what each call sets anew.
"""

from __future__ import annotations

import pickle
import sys
from types import FunctionType
from typing import Any

from ...bytecode import UnreadableError
from ...trust.look import in_class, own, parents
from ...trust.originals import is_original, module_of

# Of a tokenizer, and of the encodings that it gives.
NAMES = {
    "attention_mask", "batch_encode_plus", "bos_token", "bos_token_id", "char_to_token", "cls_token", "cls_token_id",
    "convert_ids_to_tokens", "convert_tokens_to_ids", "encode_plus", "eos_token", "eos_token_id", "get_vocab_size",
    "id_to_token", "ids", "input_ids", "mask_token", "mask_token_id", "model_max_length", "offset_mapping", "offsets",
    "pad_token", "pad_token_id", "sep_token", "sep_token_id", "special_tokens_mask", "token_to_id", "token_type_ids",
    "tokenize", "tokens", "type_ids", "unk_token", "unk_token_id", "vocab_size", "word_ids",
}  # fmt: skip
# Methods that give something of their own.
MAKERS = {"encode", "encode_plus"}
# Methods of transformers' that these come to.
_CALLED = (
    "__call__", "__getattr__", "__len__", "_batch_encode_plus", "_call_one", "_convert_encoding",
    "_convert_token_to_id_with_added_voc", "_encode_plus", "_eventual_warn_about_too_long_sequence",
    "_get_padding_truncation_strategies", "_pad", "_switch_to_input_mode", "batch_encode_plus",
    "convert_ids_to_tokens", "convert_tokens_to_ids", "encode", "encode_plus", "num_special_tokens_to_add", "pad",
    "set_truncation_and_padding", "tokenize", "vocab_size",
)  # fmt: skip
_FAST = {"PreTrainedTokenizerFast", "TokenizersBackend"}
# Settings of models, and those that have a model draw.
_OF_MODELS = (
    "byte_fallback", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "ignore_merges",
    "max_input_chars_per_word", "unk_token",
)  # fmt: skip
_DRAWS = ("alpha", "dropout", "nbest_size")
_PLAIN = (bool, int, float, str, type(None))


def is_tokenizer(value: Any) -> bool:
    """Whether it is one that is known, and does what its library has it do."""
    kind = type(value)
    if _is_core(value):
        return True
    kinds = [each for each in parents(kind) if each is not object]
    if not _FAST & {each.__name__ for each in kinds} or not _is_core(own(value).get("_tokenizer")):
        return False
    if any(module_of(each).partition(".")[0] != "transformers" for each in kinds) or own(value).keys() & {*_CALLED}:
        return False
    found = [in_class(kind, name) for name in _CALLED]
    functions = [each.fget if type(each) is property else each for each in found if each is not None]
    return all(type(each) is FunctionType and is_original(each, "transformers") for each in functions)


def settings_of(tokenizer: Any) -> tuple[Any, ...]:
    """What its tokens go by. Raises UnreadableError where they are drawn, or made by code of the user's."""
    if _is_core(tokenizer):
        return *_core(tokenizer), tokenizer.truncation, tokenizer.padding, tokenizer.encode_special_tokens
    kept = own(tokenizer)
    plain = {name: each for name, each in kept.items() if type(each) in _PLAIN}
    lists = [repr(kept.get(name)) for name in ("model_input_names", "_special_tokens_map", "_extra_special_tokens")]
    return type(tokenizer), plain, lists, id(kept["_tokenizer"]), *_core(kept["_tokenizer"])


def batch_encoding() -> type | None:
    """The class of what transformers' give."""
    return vars(sys.modules.get("transformers.tokenization_utils_base", sys)).get("BatchEncoding")


def _is_core(value: Any) -> bool:
    library = sys.modules.get("tokenizers")
    return library is not None and type(value) is vars(library).get("Tokenizer")


def _core(tokenizer: Any) -> tuple[Any, ...]:
    model = tokenizer.model
    if any(getattr(model, name, None) for name in _DRAWS):
        raise UnreadableError("uses a tokenizer that draws random numbers")
    steps = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.post_processor)
    try:
        made = [pickle.dumps(each) for each in steps]
    except Exception:
        raise UnreadableError("uses a tokenizer with code of the user's") from None
    settings = [getattr(model, name, None) for name in _OF_MODELS]
    return type(model), tokenizer.get_vocab_size(), made, settings
