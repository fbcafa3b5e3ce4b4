"""python -m goloader: help, version, exit codes."""

from __future__ import annotations

import platform
import re
import shlex
import subprocess
import sys
from importlib import metadata

import pytest

from goloader.cli import main, parser
from tests_py.pages import REPOSITORY


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_help_names_what_there_is(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 0
    out, errors = capsys.readouterr()
    assert out.startswith("usage: python -m goloader")
    assert "run" in out
    assert errors == ""


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    versions = [f"{name} {metadata.version(name)}" for name in ("goloader", "torch")]
    assert capsys.readouterr().out == ", ".join([*versions, f"Python {platform.python_version()}"]) + "\n"


@pytest.mark.parametrize(
    "arguments", [[], ["no such command"], ["run"], ["run", "--explain"], ["run", "--no-such", "x.py"]]
)
def test_arguments_that_make_no_sense_are_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    out, errors = capsys.readouterr()
    assert out == ""
    assert errors.startswith("usage: python -m goloader")


def test_the_commands_of_the_documentation_are_there() -> None:
    for page in (REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")):
        for command in re.findall(r"python -m goloader ([a-z]+ (?:[^`\n#| ]| (?! ))*)", page.read_text()):
            line = command.replace("PID", "1")
            try:
                parser().parse_args(shlex.split(line))
            except SystemExit as left:
                raise AssertionError(f"{page.name}: python -m goloader {line}") from left


def test_the_package_is_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "goloader"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: python -m goloader")
