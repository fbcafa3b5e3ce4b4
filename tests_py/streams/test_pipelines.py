"""The gallery's pipelines give torch's batches; docs/streams.md says what of each runs in Go."""

from __future__ import annotations

import pytest

from goloader.doors.recipe import door
from tests_py.pages import require_part
from tests_py.streams.pipelines import GALLERY
from tests_py.streams.shards import compare, native, shards


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return shards(tmp_path_factory.mktemp("gallery"))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", GALLERY)
def test_a_pipeline_gives_torch_s_batches(name: str, workers: int, urls: list[str]) -> None:
    pipeline = GALLERY[name]
    options = {"num_workers": workers} | pipeline.options
    loader = compare(lambda: pipeline.make(urls), lambda: pipeline.make(urls), **options)
    if pipeline.go == "all":
        assert native(loader), loader.explain()
    else:
        assert not native(loader)
        assert sum(door.record(loader).leaves.values()) > 0, loader.explain()


def test_the_page_lists_them() -> None:
    rows = ["| pipeline | after | in Go | what Python is for |", "|---|---|---|---|"]
    told = {"all": "all", "images": "its images"}
    rows += [f"| {name} | {each.after} | {told[each.go]} | {each.why} |" for name, each in GALLERY.items()]
    require_part("docs/streams.md", "gallery", "\n".join(rows) + "\n")
