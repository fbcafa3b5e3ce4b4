#!/bin/sh
# Installs a wheel in a clean virtual environment, with no Go, no compiler and no system libjpeg in reach, loads a batch, and
# runs a script by the command line.
#
#   scripts/check-wheel.sh WHEEL
set -eu
wheel=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install -q "$wheel" pillow
cd "$scratch"
env -i PATH="$scratch/venv/bin" HOME="$scratch" python - <<'PYTHON'
import pathlib
import shutil

import numpy as np
from PIL import Image

import goloader
from goloader import transforms as T

assert not any(map(shutil.which, ("go", "cc", "gcc", "clang"))), "a compiler is in reach"
pixels = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)
for name in ("a/0.jpg", "a/1.png", "b/2.jpg"):
    path = pathlib.Path("images", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
loader = goloader.NumpyLoader("images", [T.Resize((16, 16)), T.ToArray()], batch_size=3)
((images, labels),) = loader
assert images.shape == (3, 3, 16, 16), images.shape
assert labels.tolist() == [0, 0, 1], labels
opened = {line.split()[-1] for line in open("/proc/self/maps") if "libjpeg" in line or "libdeflate" in line}
ours = {path for path in opened if "pillow" not in path.lower()}
assert ours and all("goloader.libs" in path for path in ours), opened
print("wheel:", images.shape, images.dtype, "from", *sorted(pathlib.Path(path).name for path in ours))
PYTHON

# A torch without a DataLoader: what Python runs at its start is there, sees the import, and says that it cannot install.
echo > torch.py
echo 'import torch; print("done")' > script.py
env -i PATH="$scratch/venv/bin" HOME="$scratch" python -m goloader run script.py > output 2> errors
grep -qx done output && grep -q "goes on with torch's own DataLoader" errors || { cat output errors >&2; exit 1; }
echo "wheel: python -m goloader run script.py"
