"""Reading a `__getitem__` gives the same answers in every Python whose bytecode is known; those found are tried."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from goloader.plan import bytecode

# Bodies of `def __getitem__(self, i)`, and what they give; None: not understood.
BODIES = {
    "return self.x[i]": "x[i]",
    "return self.x[i], self.y[i]": "(x[i], y[i])",
    "return [self.x[i], (self.y[i],)]": "(x[i], (y[i],))",
    "return {'a': self.x[i]}": "{'a': x[i]}",
    "return {'a': self.x[i], 'b': self.d['k'][-1][i]}": "{'a': x[i], 'b': d['k'][-1][i]}",
    "return {'a': self.x[i], 'a': self.y[i]}": None,
    "a = self.x[i]; b = self.y[i]; return b, a": "(y[i], x[i])",
    "a, b = self.x[i], self.y[i]; return {'b': b, 'a': a}": "{'b': y[i], 'a': x[i]}",
    "a, b, c = self.x[i], self.y[i], self.z[i]; return c, b, a": "(z[i], y[i], x[i])",
    "a = b = self.x[i]; return a, b": None,
    "me = self; k = i; return me.x[k]": "x[i]",
    "data = self.d; return data['x'][i], data['y'][i]": "(d['x'][i], d['y'][i])",
    "i = 0; return self.x[i]": None,
    "self = i; return self.x[i]": None,
    "return self.x": None,
    "return self.x[0]": None,
    "return self.x[i][0]": None,
    "return self.x[i, 0]": None,
    "return self.x[i:]": None,
    "return self.x[self.order[i]]": None,
    "return self.x.y[i]": None,
    "return self.x[i].y": None,
    "return self.x.take(i)": None,
    "return self.x[i].copy()": "x[i].copy",
    "return torch.from_numpy(self.x[i].copy()), torch.tensor(self.y[i])": "(x[i].copy.from_numpy, y[i].tensor)",
    "a = self.x[i]; return torch.as_tensor(a).clone(), a": "(x[i].as_tensor.clone, x[i])",
    "a = torch.tensor(self.x[i]); return self.y[i]": None,
    "torch = self.x; return torch[i].copy()": "x[i].copy",
    "return torch.from_numpy(self.x)[i]": None,
    "return torch.from_numpy(self.x[i], self.y[i])": None,
    "return torch.tensor(self.x[i], dtype=torch.float32)": None,
    "return torch.tensor([self.x[i]])": None,
    "return torch.float32": None,
    "return torch.from_numpy": None,
    "return torch(self.x[i])": None,
    "return torch.from_numpy(i)": None,
    "return torch.nn.Identity()(self.x[i])": None,
    "return numpy.copy(self.x[i])": None,
    "return self.x[i].copy(order='C')": None,
    "return self.x[i].copy(self.y[i])": None,
    "return self.x[i].copy": None,
    "return self.copy()": None,
    "return self.x[i].float()": None,
    "return float(self.x[i])": None,
    "return x[i]": None,
    "return -self.x[i]": None,
    "return self.x[i] + self.y[i]": None,
    "return self.x[i] if i else self.y[i]": None,
    "return self.x[i], 1": None,
    "return None": None,
    "return ()": None,
    "return {}": None,
    "return {i: self.x[i]}": None,
    "return {**self.d}": None,
    "return [*self.x[i]]": None,
    "return [a[i] for a in self.arrays]": None,
    "return f'{self.x[i]}'": None,
    "self.seen = i; return self.x[i]": None,
    "self.x[i] = 0; return self.x[i]": None,
    "self.x[i]; return self.y[i]": None,
    "a = self.y[i]; return self.x[i]": None,
    "a = self.d['k']; return self.x[i]": None,
    "del self.x[i]; return self.x[i]": None,
    "a = self.x[i]; del a; return a": None,
    "assert i; return self.x[i]": None,
    "yield self.x[i]": None,
    "return (yield self.x[i])": None,
    "return lambda: self.x[i]": None,
    "global x; x = i; return self.x[i]": None,
    "import x; return x.y[i]": None,
    "while i: return self.x[i]": None,
}

SCRIPT = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("bytecode", sys.argv[1])
sys.modules["bytecode"] = bytecode = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bytecode)

def text(value):
    if isinstance(value, bytecode.Row):
        keys, calls = "".join("[%r]" % key for key in value.keys), "".join("." + name for name in value.calls)
        return value.attribute + keys + "[i]" + calls
    if isinstance(value, dict):
        return "{" + ", ".join("%r: %s" % (name, text(each)) for name, each in value.items()) + "}"
    return "(" + ", ".join(map(text, value)) + ("," if len(value) == 1 else "") + ")"

answers = {}
for body in json.load(sys.stdin):
    given = set()
    for head in "", "if 0:\\n    import torch\\n":  # names that are imported are called by other instructions
        space = {}
        exec(head + "def __getitem__(self, i):\\n    " + body, space)
        try:
            given.add(text(bytecode.rows_of(space["__getitem__"])))
        except bytecode.UnreadableError as error:
            given.add(None)
    (answers[body],) = given
print(json.dumps(answers))
"""


@pytest.mark.parametrize("version", ["here", "3.10", "3.11", "3.12", "3.13"])
def test_what_is_understood(version: str) -> None:
    interpreter = sys.executable if version == "here" else shutil.which(f"python{version}")
    if interpreter is None or subprocess.run([interpreter, "-c", ""], capture_output=True).returncode != 0:
        pytest.skip(f"no Python {version} here")
    done = subprocess.run(
        [interpreter, "-c", SCRIPT, str(Path(bytecode.__file__))],
        input=json.dumps(list(BODIES)), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    answers = json.loads(done.stdout)
    # That a name is given twice is gone in some versions' bytecode; what is left means the same.
    assert answers.pop("return {'a': self.x[i], 'a': self.y[i]}") in (None, "{'a': y[i]}")
    assert answers == {body: BODIES[body] for body in answers}


def test_other_pythons_are_not_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    def plain(self: object, i: int) -> object:
        return self.x[i]  # type: ignore[attr-defined]

    assert bytecode.rows_of(plain) == bytecode.Row("x")
    monkeypatch.setattr(sys, "version_info", (3, 15, 0, "final", 0))
    with pytest.raises(bytecode.UnreadableError, match="has bytecode of cpython"):
        bytecode.rows_of(plain)
