"""The loaders that are compared: what each needs, and where it runs.

An adapter is one module here, named as its row. It imports what it measures at module level (the import is timed) and
has one function a scenario, taking a bench.contender.Job and returning something that can be iterated once an epoch:

    def image_folder(job: Job) -> Iterable[tuple[images, numbers]]

images is the batch, float32 [N, 3, size, size] with the strides that job.layout names; numbers are its samples' places
in job.files. Both are numpy arrays or torch tensors, readable until the next batch is asked for. VERSIONS names the
distributions whose versions go into the result.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
VENVS = ROOT / "bench" / ".venvs"


@dataclasses.dataclass(frozen=True)
class Peer:
    """One contender: an adapter, the interpreter it runs in, and how it may be tuned."""

    name: str
    title: str
    needs: tuple[str, ...]  # modules that must be found; their absence is 'not installed'
    own_venv: bool = True  # False: runs in the interpreter that runs the bench
    shares_torch: bool = False  # its venv sees the packages of the interpreter that ran setup_peers, after its own
    build_needs: tuple[str, ...] = ()  # installed first, because its sdist is built without isolation
    system: tuple[str, ...] = ()  # Debian packages
    tries_workers: bool = False  # torch's DataLoader: the best of several num_workers counts is reported
    tries_layouts: bool = False  # faster, maybe, with channels-last batches: the best layout is reported
    prepares: bool = False  # converts the images once: its prepare(job) runs in a process of its own before the rounds
    install_hint: str = ""

    @property
    def requirements(self) -> Path:
        return ROOT / "bench" / "peers" / f"{self.name}.txt"

    @property
    def python(self) -> Path:
        return VENVS / self.name / "bin" / "python" if self.own_venv else Path(sys.executable)

    @property
    def install(self) -> str:
        return self.install_hint or f"python -m bench.setup_peers {self.name}"

    def variants(self, workers: int) -> dict[str, dict[str, Any]]:
        """What is tried, by the name it has in the result: changes to the scenario's Job. The best counts."""
        if self.tries_workers:
            return {f"{count} workers": {"workers": count} for count in (0, workers, 2 * workers)}
        if self.tries_layouts:
            return {
                f"{workers} workers, {layout.replace('_', ' ')}": {"workers": workers, "layout": layout}
                for layout in ("contiguous", "channels_last")
            }
        return {f"{workers} workers": {"workers": workers}}

    @property
    def environment(self) -> dict[str, str]:
        """The child's variables: ours, and the working tree's own goloader first on the path."""
        path = [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
        return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))}


OURS = "goloader"

PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            OURS,
            "goloader",
            needs=("goloader", "torch", "torchvision"),
            own_venv=False,
            install_hint="pip install .",
        ),
        Peer(
            "torch_pil",
            "torch DataLoader",
            needs=("torch", "torchvision"),
            own_venv=False,
            tries_workers=True,
            install_hint="pip install -r bench/peers/torch_pil.txt",
        ),
        Peer(
            "torch_decode",
            "torchvision decode_image + v2",
            needs=("torch", "torchvision"),
            own_venv=False,
            tries_workers=True,
            install_hint="pip install -r bench/peers/torch_decode.txt",
        ),
        Peer(
            "opencv",
            "OpenCV + albumentations",
            needs=("cv2", "albumentations", "torch"),
            shares_torch=True,
            tries_workers=True,
        ),
        Peer("dali", "DALI (CPU)", needs=("nvidia.dali", "numpy")),
        Peer(
            "ffcv",
            "FFCV (.beton, JPEG)",
            needs=("ffcv", "torch"),
            shares_torch=True,
            tries_layouts=True,
            prepares=True,
            build_needs=("setuptools", "wheel", "numba"),
            system=("libturbojpeg0-dev", "libopencv-dev", "pkg-config", "g++"),
        ),
    )
}
