"""A wheel has the licences of all Go modules that are compiled into it (GOLOADER_UPDATE=1 writes them)."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "licenses" / "go-modules.txt"
OURS = "github.com/goloader/goloader"


def texts() -> str:
    """Each text once, below the modules that it is of."""
    listed = subprocess.run(
        ["go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}", "./capi"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    modules = defaultdict(list)
    for name, folder in sorted({tuple(line.split("\t")) for line in listed.splitlines() if line}):
        if name != OURS:
            files = [path for kind in ("LICENSE*", "NOTICE*") for path in sorted(Path(folder).glob(kind))]
            assert files, f"{name} has no licence"
            modules["\n\n".join(path.read_text().strip() for path in files)].append(name)
    line = "=" * 72
    return "\n".join(f"{line}\n{', '.join(names)}\n{line}\n\n{text}\n" for text, names in modules.items())


def test_all_modules_licences_are_kept() -> None:
    found = texts()
    if os.environ.get("GOLOADER_UPDATE"):
        KEPT.write_text(found)
    assert KEPT.read_text() == found
