"""python -m goloader run: a script sees of itself what it sees under plain python, and its loaders are ours, in its
sub-processes too."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

PLAIN = [sys.executable]
OURS = [sys.executable, "-m", "goloader", "run"]
TELL = """
import json, os, sys
main = sys.modules["__main__"]
hidden = ("GOLOADER_RUN", "PYTHONPATH", "_", "LC_CTYPE")
print(json.dumps({
    "argv": sys.argv, "path": sys.path, "name": __name__, "file": __file__, "main": main.__dict__ is globals(),
    "package": __package__, "spec": getattr(__spec__, "name", None), "modules": "goloader" in sys.modules,
    "environ": {name: value for name, value in os.environ.items() if name not in hidden},
    "flags": list(sys.flags), "xoptions": sys._xoptions, "warnoptions": sys.warnoptions,
    "unbuffered": sys.stdout.write_through, "loader": type(__loader__).__name__, "stdin": sys.stdin.read(),
}, sort_keys=True))
"""


def execute(command: list[str], cwd: Path, **more: Any) -> tuple[int, str, str]:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **({"input": "in"} | more))
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A folder with a script, one in a package, one in a zip file, and ones that end badly."""
    (tmp_path / "tell.py").write_text(TELL)
    (tmp_path / "below").mkdir()
    for name in "__init__", "__main__", "inner":
        (tmp_path / "below" / f"{name}.py").write_text("" if name == "__init__" else TELL)
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("__main__.py", TELL)
    (tmp_path / "raises.py").write_text("def f():\n    raise ValueError('the script')\nprint('first')\nf()\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(7)\n")
    (tmp_path / "syntax.py").write_text("def f(:\n")
    (tmp_path / "killed.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    return tmp_path


SAME = {
    "a script": ["tell.py"],
    "its arguments": ["tell.py", "--explain", "-m", "a b", "--", "-", "", "--help"],
    "a script elsewhere": ["below/inner.py", "x"],
    "a module": ["-m", "below.inner", "--lr", "3", "-m"],
    "a package": ["-m", "below"],
    "a folder": ["below"],
    "a zip file": ["packed.zip", "y"],
    "an error": ["raises.py"],
    "an exit code": ["leaves.py"],
    "a syntax error": ["syntax.py"],
    "a signal": ["killed.py"],
    "no such file": ["nothing.py"],
    "no such module": ["-m", "nothing"],
}


@pytest.mark.parametrize("name", SAME)
def test_a_script_sees_what_it_sees_under_plain_python(scripts: Path, name: str) -> None:
    want = execute(PLAIN + SAME[name], scripts)
    assert execute(OURS + SAME[name], scripts) == want
    assert want[0] == {
        "an error": 1,
        "an exit code": 7,
        "a syntax error": 1,
        "a signal": -signal.SIGKILL,
        "no such file": 2,
        "no such module": 1,
    }.get(name, 0)


@pytest.mark.parametrize(
    "options", [["-u"], ["-X", "dev", "-W", "error::UserWarning"], ["-O", "-B", "-b"], ["-P"], ["-um"]], ids=" ".join
)
def test_python_s_own_options_go_on(scripts: Path, options: list[str]) -> None:
    if "-P" in options and sys.version_info < (3, 11):
        pytest.skip("-P is of Python 3.11")
    ours = [sys.executable, *options, *([] if options[-1].endswith("m") else ["-m"]), "goloader", "run", "tell.py"]
    theirs = [sys.executable, *(option.removesuffix("m") for option in options), "tell.py"]
    assert execute(ours, scripts) == execute(theirs, scripts)


@pytest.mark.parametrize("option", ["-E", "-I"])
def test_options_that_hide_the_environment_are_refused(scripts: Path, option: str) -> None:
    here = Path(__file__).parents[2] / "python" / "goloader"
    code = f"import runpy, sys; sys.path.insert(0, {str(here.parent)!r}); sys.argv = ['goloader', 'run', 'tell.py']; "
    code += "runpy.run_module('goloader', run_name='__main__')"
    status, out, errors = execute([sys.executable, option, "-c", code], scripts)
    assert (status, out) == (2, "")
    assert "-E, -I or -S" in errors


def test_another_sitecustomize_runs_as_well(scripts: Path) -> None:
    folder = scripts / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import builtins\nbuiltins.from_site = __file__\n")
    (scripts / "asks.py").write_text("import sitecustomize\nprint(from_site, sitecustomize.__file__)\n")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
    want = execute([*PLAIN, "asks.py"], scripts, env=environment)
    assert want[:2] == (0, f"{folder}/sitecustomize.py {folder}/sitecustomize.py\n")
    assert execute([*OURS, "asks.py"], scripts, env=environment) == want


def test_a_program_without_torch_does_not_import_goloader(scripts: Path) -> None:
    (scripts / "plain.py").write_text(
        "import importlib.util, sys\nimportlib.util.find_spec('torch')\n"
        "print([name for name in ('goloader', 'numpy', 'torch', 'importlib.resources') if name in sys.modules])\n"
    )
    assert execute([*OURS, "plain.py"], scripts) == execute([*PLAIN, "plain.py"], scripts)


FAMILY = """
import concurrent.futures, importlib.util, multiprocessing, subprocess, sys

assert importlib.util.find_spec("torch").origin.endswith("__init__.py")  # which frameworks ask before they import it
from torch.utils.data import DataLoader

def kind(what):
    loader = DataLoader(["a", "b", "c"], batch_size=2)
    assert [len(batch) for batch in loader] == [2, 1]
    return what, type(loader).__module__

if __name__ == "__main__":
    import inspect, torch
    assert "def " in inspect.getsource(torch)
    print(*kind("main"), flush=True)
    child = subprocess.Popen([sys.executable, "-c", "import child; print(*child.kind('child'))"], text=True)
    for method in "spawn", "forkserver":
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(*pool.apply(kind, [method]), flush=True)
    child.wait()
"""


@pytest.mark.slow
def test_loaders_are_ours_in_every_process_that_the_script_starts(tmp_path: Path) -> None:
    (tmp_path / "family.py").write_text(FAMILY)
    (tmp_path / "child.py").write_text("from family import kind\n")
    status, out, errors = execute([*OURS, "--explain", "family.py"], tmp_path)
    assert status == 0, errors
    assert sorted(out.split("\n")[:-1]) == [
        f"{process} goloader._loader" for process in ("child", "forkserver", "main", "spawn")
    ]
    assert errors.count("goloader: DataLoader\nstage ") == 4
    assert errors.count("which is a list, not of numbers of one type") == 4


def test_where_goloader_cannot_be_imported_a_program_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "torch.py").write_text("print('torch')\n")
    (folder / "program.py").write_text("import torch\nprint('done')\n")
    status, out, errors = execute([*OURS, "broken/program.py"], tmp_path)
    assert (status, out) == (0, "torch\ndone\n"), errors
    assert errors.startswith(
        "goloader: this program goes on with torch's own DataLoader: ModuleNotFoundError: No module"
    )


LOADERS = """
import os, sys, torch
from torch.utils.data import DataLoader, TensorDataset
loaders = [DataLoader(TensorDataset(torch.zeros(20000, 64)), 1000, num_workers=workers) for workers in (0, 2)]
assert sum(1 for loader in loaders for _ in loader) == 40
if not os.fork():
    sys.exit()
os.wait()
"""


@pytest.mark.slow
def test_a_profile_is_written_by_each_process_that_takes_batches(tmp_path: Path) -> None:
    (tmp_path / "loaders.py").write_text(LOADERS)
    (tmp_path / "none.py").write_text("import torch, torch.utils.data")
    ours = [*OURS[:-1], "profile", "--chart"]
    assert execute([*ours, "none.py"], tmp_path) == (0, "", "")
    assert os.listdir(tmp_path / "traces") == []
    assert execute([*ours, "loaders.py"], tmp_path) == (0, "", "")
    assert execute([*ours, "loaders.py"], tmp_path, env=os.environ | {"RANK": "3"}) == (0, "", "")
    names = sorted(os.listdir(tmp_path / "traces"))
    assert (len(names), names[2:]) == (4, ["rank-3.json", "rank-3.png"])
    assert names[1] == names[0].removesuffix(".json") + ".png"
    assert names[0].removesuffix(".json").isdecimal()
    for name in names[::2]:
        assert (tmp_path / "traces" / name).with_suffix(".png").read_bytes().startswith(b"\x89PNG")
        events = json.loads((tmp_path / "traces" / name).read_text())["traceEvents"]
        assert [event["name"] for event in events].count("next()") == 40
        assert sum(event["args"]["count"] for event in events if event["name"] == "gather") == 40000
