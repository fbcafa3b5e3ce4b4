"""The sets of versions that `make test-matrix` runs: a row each, and what must be on in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).with_name("results.json")


@dataclass(frozen=True)
class Row:
    """An environment. A version is what pip takes behind the name; "" is the newest, None leaves the package out.

    python  "3.14t" is the free-threaded one
    doors   that are on: exactly these; a door that is on though its row does not say so fails the row as well
    image   the package that is Pillow
    """

    name: str
    python: str
    torch: str = ""
    torchvision: str = ""
    pillow: str = ""
    numpy: str = ""
    opencv: str | None = ""
    albumentations: str | None = ""
    doors: tuple[int, ...] = (1, 2, 3)
    image: str = "pillow"

    def requirements(self) -> list[str]:
        """What pip installs."""
        wanted = {
            "torch": self.torch,
            "torchvision": self.torchvision,
            self.image: self.pillow,
            "numpy": self.numpy,
            "opencv-python-headless": self.opencv,
            "albumentations": self.albumentations,
        }
        packages = (name + version for name, version in wanted.items() if version is not None)
        return [*packages, "hypothesis", "pytest", "pytest-timeout"]


ROWS = (
    Row(
        "oldest", "3.10", torch="==2.4.1", torchvision="==0.19.1", pillow="==9.5.0", numpy="==1.26.*",
        opencv="==4.8.*", albumentations="==1.4.*",
    ),
    Row(
        "torch-2.5", "3.12", torch="==2.5.1", torchvision="==0.20.1", pillow="==10.4.0", numpy="==2.0.*",
        opencv="==4.10.*",
    ),
    Row(
        "torch-2.6", "3.11", torch="==2.6.0", torchvision="==0.21.0", pillow="==11.1.0", numpy="==2.1.*",
        opencv="==4.10.*",
    ),
    Row(
        "torch-2.7", "3.11", torch="==2.7.1", torchvision="==0.22.1", pillow="==11.3.0", numpy="==2.2.*",
        opencv="==4.12.*",
    ),
    Row(
        "middle", "3.11", torch="==2.8.0", torchvision="==0.23.0", pillow="==11.3.0", numpy="==2.3.*",
    ),
    Row(
        "torch-2.9", "3.12", torch="==2.9.1", torchvision="==0.24.1", pillow="==12.0.0", numpy="==2.3.*",
    ),
    Row("torch-2.12", "3.12", torch="==2.12.*", pillow="==12.3.0", numpy="==2.4.*"),
    Row("newest", "3.13"),
    Row("pillow-12.2", "3.11", pillow="==12.2.0"),
    Row("pillow-simd", "3.11", image="pillow-simd", doors=(3,)),
    Row("python-3.14", "3.14"),
    Row(  # the newest that have wheels for it
        "threads-3.13", "3.13t", torch="==2.12.*", torchvision="==0.27.*", pillow="==12.2.0", numpy="==2.4.*",
        opencv=None, albumentations=None,
    ),
    Row("threads-3.14", "3.14t", albumentations=None),
)  # fmt: skip
