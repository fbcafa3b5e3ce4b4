"""A program for test_ray.py: a cluster of three nodes makes tensors of a folder's images, and one of them is killed.

Arguments are a folder, which is called photos as in docs/ray.md's example, that example, and a file for the results: of
each epoch what was made of each path, by its checksum.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import zlib
from pathlib import Path
from typing import Any

import ray
import torchvision.transforms as T
from ray.cluster_utils import Cluster

import goloader.ray


def transform() -> Any:
    return T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()])


def sums(batch: dict[str, Any]) -> dict[str, int]:
    """What each row is, by its file's name."""
    pairs = zip(batch["path"], batch["image"], strict=True)
    return {Path(str(path)).name: zlib.crc32(image.tobytes()) for path, image in pairs}


def main(root: str, example: str, results: str) -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    others = [cluster.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    told: dict[str, Any] = {"nodes": sum(node["Alive"] for node in ray.nodes())}

    def made(files: Any, **how: Any) -> Any:
        if not isinstance(how.get("fn"), goloader.ray.Transform):
            how |= {"fn": goloader.ray.Transform, "fn_constructor_args": (transform(),)}
            how["fn_constructor_kwargs"] = {"seed": 5, "key": "path"}
        return files.map_batches(batch_size=8, **how)

    files = ray.data.read_binary_files(root, include_paths=True, override_num_blocks=15)
    actors = made(files, batch_format="pyarrow", compute=ray.data.ActorPoolStrategy(size=2))
    told["actors"] = {name: each for batch in actors.iter_batches(batch_size=7) for name, each in sums(batch).items()}

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(example, "docs/ray.md", "exec"), {})
    told["example"] = printed.getvalue()

    tasks = made(files, fn=goloader.ray.Transform(transform(), seed=5, key="path"), batch_format="numpy")
    seen: dict[str, int] = {}  # in the second epoch
    for number, batch in enumerate(tasks.iter_batches(batch_size=4, prefetch_batches=0)):
        if number == 0:
            cluster.remove_node(others[0], allow_graceful=False)
        seen |= sums(batch)
    told["killed"] = seen
    cluster.wait_for_nodes()
    told["nodes left"] = sum(node["Alive"] for node in ray.nodes())

    damaged = ray.data.from_items([{"bytes": b"no image", "path": "some.jpg"}])
    try:
        made(damaged, compute=ray.data.ActorPoolStrategy(size=1)).materialize()
    except Exception as error:
        told["error"] = str(error)
    ray.shutdown()
    cluster.shutdown()
    Path(results).write_text(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
