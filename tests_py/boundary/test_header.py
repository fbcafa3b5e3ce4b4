"""goloader.h against its ctypes declarations in goloader._native: every function, struct and constant, none left out.

The header is the contract. Its declarations are read with a few regular expressions, which the tests hold to have seen
all of it; sizes and offsets come from a C compiler.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from goloader import _errors, _native

ROOT = Path(__file__).resolve().parents[2]
CAPI = ROOT / "capi"
HEADER = (CAPI / "goloader.h").read_text()

# The header's structs and the classes that stand for them.
STRUCTS: dict[str, type[ctypes.Structure]] = {
    "gl_error": _native.Error,
    "gl_chunks": _native.Chunks,
    "gl_column": _native.Column,
    "gl_array_files": _native.ArrayFiles,
    "gl_array": _native.Array,
    "gl_rows": _native.Rows,
    "gl_place": _native.Place,
    "gl_source": _native.Source,
    "gl_tree": _native.Tree,
    "gl_shards": _native.Shards,
    "gl_files": _native.Files,
    "gl_cache": _native.Cache,
    "gl_field": _native.Field,
    "gl_batch": _native.Batch,
    "gl_ask": _native.Ask,
    "gl_run_options": _native.RunOptions,
    "gl_event": _native.Event,
    "gl_drawn": _native.Drawn,
    "gl_slot": _native.Slot,
    "gl_slots_usage": _native.SlotsUsage,
}

# Statuses that are no errors, questions, and limits, by their names in Python.
NAMED = {
    "GL_OK": _native.OK,
    "GL_EMPTY": _native.EMPTY,
    "GL_ASK": _native.ASK,
    "GL_IDLE_RUN": _native.IDLE,
    "GL_LEFT": _native.LEFT,
    "GL_END": _native.END,
    "GL_ASK_SHARD": _native.ASK_SHARD,
    "GL_ASK_LATE": _native.ASK_LATE,
    "GL_ASK_PIXELS": _native.ASK_PIXELS,
    "GL_ASK_SAMPLE": _native.ASK_SAMPLE,
    "GL_ASK_EXP": _native.ASK_EXP,
    "GL_ASK_BATCH": _native.ASK_BATCH,
    "GL_ERROR_BYTES": ctypes.sizeof(_native.Error),
    "GL_REASON_BYTES": _native.Ask.reason.size,
    "GL_STEPS_MAX": _native.Drawn.ends.size // ctypes.sizeof(ctypes.c_int32),
    "GL_STEP_BYTES": _native.Drawn.steps.size * ctypes.sizeof(ctypes.c_int32) // _native.Drawn.ends.size,
    "GL_WORDS_MAX": _native.Drawn.word.size // ctypes.sizeof(ctypes.c_uint32),
    "GL_NDIM_MAX": _native.Field.shape.size // ctypes.sizeof(ctypes.c_int64),
    "GL_FIELDS_MAX": _native.Batch.field.size // ctypes.sizeof(_native.Field),
}

SCALARS: dict[str, Any] = {
    "void": None,
    "gl_status": ctypes.c_int32,
    "gl_handle": ctypes.c_int64,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}


def code() -> str:
    """The header without comments and preprocessor lines."""
    return re.sub(r"/\*.*?\*/|^\s*#.*?$", "", HEADER, flags=re.DOTALL | re.MULTILINE)


def constants() -> dict[str, int]:
    """The members of all enums."""
    found = {}
    for body in re.findall(r"\benum\s*\{(.*?)\}", code(), re.DOTALL):
        for member in body.split(","):
            name, value = member.split("=")
            found[name.strip()] = int(value)
    return found


def structs() -> dict[str, list[str]]:
    """The names of the members of all structs."""
    found = {}
    for tag, body, name in re.findall(r"typedef struct (\w+) \{(.*?)\} (\w+);", code(), re.DOTALL):
        assert tag == name
        found[name] = [re.split(r"[\s*]", re.sub(r"\[.*?\]", "", m).strip())[-1] for m in body.split(";") if m.strip()]
    return found


def functions() -> dict[str, tuple[str, list[str]]]:
    """The result and the arguments of all functions, as C types."""
    found = {}
    for result, name, arguments in re.findall(r"^([\w ]+?[ *]+)(gl_\w+)\((.*?)\);", code(), re.DOTALL | re.MULTILINE):
        declared = [] if arguments.strip() == "void" else [" ".join(a.split()) for a in arguments.split(",")]
        found[name] = result.strip(), [re.sub(r"\w+$", "", a).strip() for a in declared]
    return found


def fits(c_type: str, declared: Any) -> bool:
    """Whether a ctypes type may stand for a C type: pointers as bytes, addresses, or pointers to the same."""
    if not c_type.endswith("*"):
        return declared is SCALARS[c_type]
    if declared is ctypes.c_void_p:
        return True
    pointee = c_type[:-1].replace("const", "").strip()
    if pointee == "void *":
        return declared is ctypes.POINTER(ctypes.c_void_p)
    if pointee in ("char", "uint8_t"):
        constant = c_type.startswith("const")
        return declared is ctypes.POINTER(ctypes.c_char) or (constant and declared is ctypes.c_char_p)
    return declared is ctypes.POINTER(STRUCTS.get(pointee, SCALARS.get(pointee)))


def test_the_header_was_read_whole() -> None:
    assert set(re.findall(r"\bgl_\w+(?=\()", code())) == set(functions())
    assert set(re.findall(r"\bGL_\w+\b(?=\s*=)", code())) == set(constants())
    assert set(re.findall(r"\bstruct (\w+)", code())) == set(structs())
    assert len(functions()) == code().count("(")
    known = re.compile(r"typedef struct.*?\}.*?;|enum\s*\{.*?\};|^[^;{}]*?\(.*?\);", re.DOTALL | re.MULTILINE)
    remaining = known.sub("", code())
    assert re.sub(r"\s+", " ", remaining.replace('extern "C" {', "").replace("}", "")).strip() == (
        "typedef int32_t gl_status; typedef int64_t gl_handle;"
    )


def test_every_function_is_declared_and_no_other() -> None:
    assert set(_native.DECLARED) == set(functions())


@pytest.mark.parametrize("name", sorted(functions()))
def test_a_function_takes_and_gives_what_the_header_says(name: str) -> None:
    result, arguments = functions()[name]
    declared_result: Any
    declared: Any
    declared_result, declared = _native.DECLARED[name]
    assert len(arguments) == len(declared), f"{name} takes {arguments}"
    for at, (c_type, ctypes_type) in enumerate(zip(arguments, declared, strict=True)):
        assert fits(c_type, ctypes_type), f"argument {at} of {name}: {c_type} is not {ctypes_type}"
    assert fits(result, declared_result), f"the result of {name}: {result} is not {declared_result}"


def test_functions_that_wait_free_the_gil() -> None:
    assert not set(_native._LONG) & set(_native._SHORT)
    assert {"gl_wait", "gl_close", "gl_open", "gl_reject", "gl_reset", "gl_answer_pixels"} <= set(_native._LONG)
    # Called in a garbage collection, where another thread must not come in between.
    assert {"gl_release", "gl_slot_release"} <= set(_native._SHORT)


def test_every_struct_has_its_class_with_all_members() -> None:
    assert {name: [field[0] for field in cls._fields_] for name, cls in STRUCTS.items()} == structs()


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, int]]:
    """(offset, size) of "struct.member", and (0, size) of "struct", as the C compiler has them."""
    lines = ["#include <stdio.h>", '#include "goloader.h"', "int main(void) {"]
    for name, members in structs().items():
        lines.append(f'printf("{name} 0 %zu\\n", sizeof({name}));')
        for member in members:
            size = f"sizeof((({name} *)0)->{member})"
            lines.append(f'printf("{name}.{member} %zu %zu\\n", offsetof({name}, {member}), {size});')
    for name in constants():
        lines.append(f'printf("{name} 0 %d\\n", {name});')
    lines.append('printf("GL_ABI_VERSION 0 %u\\n", GL_ABI_VERSION);')
    lines.append("return 0; }")
    folder = tmp_path_factory.mktemp("layout")
    (folder / "layout.c").write_text("\n".join(lines))
    subprocess.run(["cc", "-I", CAPI, "-o", folder / "layout", folder / "layout.c"], check=True)
    out = subprocess.run([folder / "layout"], check=True, capture_output=True, text=True).stdout
    triples = [line.split() for line in out.splitlines()]
    return {name: (int(offset), int(size)) for name, offset, size in triples}


@pytest.mark.parametrize("name", sorted(STRUCTS))
def test_a_struct_lies_in_memory_as_the_compiler_lays_it(name: str, layout: dict[str, tuple[int, int]]) -> None:
    cls = STRUCTS[name]
    assert layout[name] == (0, ctypes.sizeof(cls))
    for field in cls._fields_:
        member = getattr(cls, field[0])
        assert (member.offset, member.size) == layout[f"{name}.{field[0]}"], f"{name}.{field[0]}"


def test_every_constant_has_the_headers_value(layout: dict[str, tuple[int, int]]) -> None:
    values = constants()
    for name, value in values.items():
        assert layout[name] == (0, value)
    errors = {name: value for name, value in values.items() if value < 0}
    assert {name: value for name, value in values.items() if name not in errors} == NAMED
    assert set(_errors.BY_STATUS) <= set(errors.values())


def test_the_major_version_is_the_headers(layout: dict[str, tuple[int, int]]) -> None:
    assert layout["GL_ABI_VERSION"][1] >> 16 == _native.ABI_MAJOR


@pytest.mark.parametrize(
    ("status", "cls"),
    [
        ("GL_BAD_ARGUMENT", _errors.PlanError),
        ("GL_FORKED", _errors.ForkedError),
        ("GL_BUG", _errors.BugError),
        ("GL_MEMORY", MemoryError),
        ("GL_SHAPE", _errors.StackError),
        ("GL_RANGE", IndexError),
    ],
)
def test_an_error_has_the_class_that_its_name_promises(status: str, cls: type[Exception]) -> None:
    assert _errors.BY_STATUS[constants()[status]] is cls
