"""Lists of files: how many of them the core has a decoder for, by their names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from goloader.plan.paths import Files, decoders

_STEMS = st.text("abJPGpeg./é", max_size=9)
_ENDINGS = st.sampled_from(["", ".jpg", ".JPEG", ".Png", ".webp", ".TIFF", ".tif", ".bmp", ".gif", ".jp", "jpg"])


def _extensions() -> list[str]:
    each = {"webp": [".webp"], "bmp": [".bmp"], "gif": [".gif"], "tiff": [".tif", ".tiff"]}
    return [extension for name in decoders() for extension in each[name]]


@given(st.lists(st.builds("{}{}".format, _STEMS, _ENDINGS), min_size=1, max_size=30))
def test_the_native_share_counts_each_path_by_its_extension(paths: list[str]) -> None:
    extensions = (".jpg", ".jpeg", ".png", *_extensions())
    native = [path.lower().endswith(extensions) for path in paths]
    assert Files.of(paths).native_share() == sum(native) / len(native)
