#!/bin/sh
# Installs a wheel where there is no Go, no compiler and no libjpeg in reach, loads a batch, and runs a script by the command
# line. A wheel for another processor than this machine's (aarch64) loads its batch under qemu, in Debian's Python.
#
#   scripts/check-wheel.sh WHEEL
set -eu
wheel=$(realpath "$1")
cd "$(dirname "$0")/.."
. scripts/apt.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

case $wheel in
*_"$(uname -m)".whl)
    python3 -m venv "$scratch/venv"
    "$scratch/venv/bin/python" -m pip install -q "$wheel" pillow
    run() { env -i PATH="$scratch/venv/bin" HOME="$scratch" python "$@"; }
    ;;
*_aarch64.whl)
    command -v qemu-aarch64 >/dev/null || apt_install qemu-user
    system=$PWD/build/aarch64
    [ -d "$system/root" ] || apt_root "$system" arm64 "" python3 libstdc++6 # which numpy's wheel does not bring
    qemu=$(command -v qemu-aarch64)
    run() {
        env -i PATH=/nowhere HOME="$scratch" PYTHONPATH="$scratch/site" "$qemu" -L "$system/root" "$system/root/usr/bin/python3" "$@"
    }
    version=$(run -c 'import sys; print(*sys.version_info[:2], sep=".")')
    python3 -m pip install -q --target "$scratch/site" --only-binary=:all: --implementation cp --python-version "$version" \
        --platform manylinux_2_17_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_28_aarch64 "$wheel" pillow
    ;;
*)
    echo "no way to run $wheel on $(uname -m)" >&2
    exit 1
    ;;
esac
cd "$scratch"
run - <<'PYTHON'
import importlib.metadata
import pathlib
import platform
import shutil

import numpy as np
from PIL import Image

import goloader
from goloader import _native, transforms as T

assert not any(map(shutil.which, ("go", "cc", "gcc", "clang"))), "a compiler is in reach"

licences = {pathlib.Path(path).name for path in importlib.metadata.files("goloader") if "licenses" in str(path)}
assert licences == {"LICENSE", "go.txt", "go-modules.txt", "libdeflate.txt", "libjpeg-turbo.txt", "zig.txt"}, licences
assert importlib.metadata.metadata("goloader")["License-Expression"] == "BSD-3-Clause"

pixels = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)
for name in ("a/0.jpg", "a/1.png", "b/2.jpg"):
    path = pathlib.Path("images", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
# A kind of JPEG that is libjpeg-turbo's, not our own engine's.
Image.fromarray(pixels).convert("CMYK").save("images/b/3.jpg", progressive=True)
loader = goloader.NumpyLoader("images", [T.ToArray()], batch_size=4)
((images, labels),) = loader
assert images.shape == (4, 3, 40, 50), images.shape
assert labels.tolist() == [0, 0, 1, 1], labels
for image, path in zip(images, sorted(pathlib.Path("images").rglob("*.*g"))):
    expected = np.asarray(Image.open(path).convert("RGB")).transpose(2, 0, 1)
    assert np.array_equal(np.round(image * 255).astype(np.uint8), expected), path
opened = {line.split()[-1] for line in open("/proc/self/maps") if "libjpeg" in line or "libdeflate" in line}
assert all("pillow" in path.lower() for path in opened), opened

# The kernels are those of this processor, whatever compiled the wheel.
flags = set(pathlib.Path("/proc/cpuinfo").read_text().split())
kernels = _native.library().gl_kernels().decode()
vectors = kernels != "plain"
assert vectors == (platform.machine() == "aarch64" or flags >= {"avx2", "fma"}), kernels
print("wheel:", images.shape, images.dtype, "on", platform.machine(), "with kernels for", kernels)
PYTHON
case $wheel in *_"$(uname -m)".whl) ;; *) exit ;; esac

# A torch without a DataLoader: what Python runs at its start is there, sees the import, and says that it cannot install.
echo > torch.py
echo 'import torch; print("done")' > script.py
run -m goloader run script.py > output 2> errors
grep -qx done output && grep -q "goes on with torch's own DataLoader" errors || { cat output errors >&2; exit 1; }
echo "wheel: python -m goloader run script.py"
