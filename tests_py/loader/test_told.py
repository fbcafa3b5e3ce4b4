"""What users are told of loaders that run in Python: on_fallback, strict(), warnings, the log, explain()."""

from __future__ import annotations

import json
import logging
import pickle
import warnings
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
import torchvision.transforms as T
from PIL import Image
from torch.utils import data
from torchvision.datasets import ImageFolder

import goloader
from goloader import _told
from goloader.doors import choice
from goloader.doors.index import trial
from goloader.plan.explain import Explanation, Row
from goloader.plan.refusal import Refusal

KINDS = [goloader.DataLoader, goloader.StatefulDataLoader]


class Stream(data.IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(4))


class Recorded(data.Dataset[Any]):
    """Its code is not compiled; what it does to its images can be recorded."""

    def __init__(self, root: Path) -> None:
        self.paths = sorted(root.glob("*/*"))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.paths[index]).convert("RGB")
        for _ in range(len(str(index))):
            image = image.resize((20, 20))
        return T.functional.to_tensor(image)


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that was told nothing yet."""
    monkeypatch.setattr(_told, "_told", set())
    monkeypatch.setattr(_told, "_default", "python")


def warned(use: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        use()
    return [each for each in seen if issubclass(each.category, goloader.GoloaderWarning)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_workers", [0, 2])
def test_error_raises_in_iter_before_anything_is_drawn(kind: Any, num_workers: int) -> None:
    loader = kind(Stream(), num_workers=num_workers, on_fallback="error", trace=False)
    before = torch.get_rng_state()
    with pytest.raises(goloader.FallbackError, match="an IterableDataset runs its own code") as raised:
        iter(loader)
    assert torch.equal(torch.get_rng_state(), before)
    assert raised.value.codes == ("ITERABLE", "TRACE_OFF")
    assert isinstance(raised.value, RuntimeError)
    table = str(loader.explain()).splitlines()
    assert [line.strip() for line in str(raised.value).splitlines()[1:]] == table
    copied = pickle.loads(pickle.dumps(raised.value))
    assert (str(copied), copied.codes) == (str(raised.value), raised.value.codes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_workers", [0, 2])
def test_what_go_makes_is_no_fallback(dataset: ImageFolder, kind: Any, num_workers: int) -> None:
    loader = kind(dataset, batch_size=5, num_workers=num_workers, on_fallback="error")
    assert not warned(lambda: [list(loader) for _ in range(2)])
    assert loader.explain().native_fraction == 1.0


def test_a_worker_init_fn_that_sends_the_loader_to_python_counts(dataset: ImageFolder) -> None:
    def change(_: int) -> None:
        dataset.samples[0] = dataset.samples[1]

    loader = goloader.DataLoader(dataset, 5, num_workers=2, worker_init_fn=change, on_fallback="error")
    with pytest.raises(goloader.FallbackError) as raised:
        iter(loader)
    assert raised.value.codes == ("INIT_FN",)


def test_warn_tells_each_reason_once_at_the_user_s_line() -> None:
    def use() -> None:
        for _ in range(2):
            for dataset in Stream(), ["a", "b"]:
                loader = goloader.DataLoader(dataset, trace=False, on_fallback="warn")
                list(loader)  # the user's line

    seen = warned(use)
    assert [str(each.message).rpartition(" ")[2] for each in seen] == ["[ITERABLE]", "[TRACE_OFF]", "[CODE_UNREAD]"]
    for each in seen:
        assert each.filename == __file__
        assert "# the user's line" in Path(__file__).read_text().splitlines()[each.lineno - 1]


def test_a_class_that_turns_out_to_have_nothing_to_record_is_an_error_from_then_on() -> None:
    loader = goloader.DataLoader(list(map(str, range(200))), 10, on_fallback="error")  # type: ignore[arg-type]
    assert not warned(lambda: list(loader))
    with pytest.raises(goloader.FallbackError) as raised:
        iter(loader)
    assert raised.value.codes == ("CODE_UNREAD", "NO_GAIN")
    assert loader.explain().codes == raised.value.codes


def test_the_default_says_nothing() -> None:
    for arguments in ({}, {"on_fallback": "python"}):
        assert not warned(lambda arguments=arguments: list(goloader.DataLoader(Stream(), **arguments)))  # type: ignore[misc]


def test_strict_is_for_loaders_that_say_nothing_themselves() -> None:
    def raises(**arguments: Any) -> bool:
        try:
            list(goloader.DataLoader(Stream(), trace=False, **arguments))
        except goloader.FallbackError:
            return True
        return False

    assert not raises()
    goloader.strict()
    assert raises() and not raises(on_fallback="python")
    goloader.strict(False)
    assert not raises() and raises(on_fallback="error")
    with goloader.strict():
        assert raises()
        with goloader.strict(False):
            assert not raises()
        assert raises()
    assert not raises()


@pytest.mark.parametrize("value", ["", "ERROR", True, 1])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="on_fallback"):
        goloader.DataLoader([1], on_fallback=value)


def test_a_loader_with_an_iterator_of_its_own_is_told_of() -> None:
    class Mine(goloader.DataLoader[Any]):
        def _get_iterator(self) -> Any:
            return super()._get_iterator()

    with pytest.raises(goloader.FallbackError, match="makes its iterators itself"):
        iter(Mine([1], on_fallback="error"))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_what_stops_is_a_warning_whatever_on_fallback_says(dataset: ImageFolder, num_workers: int) -> None:
    loader = goloader.DataLoader(dataset, 5, num_workers=num_workers, trace=False)
    assert not warned(lambda: list(loader))
    dataset.target_transform = repr
    (seen,) = warned(lambda: [list(loader) for _ in range(2)])
    assert "it has a target_transform [TARGET_TRANSFORM]: from now on this runs in Python" in str(seen.message)
    assert seen.filename == __file__


def test_what_stops_within_an_epoch_is_a_warning_too(dataset: ImageFolder) -> None:
    iterator = iter(goloader.DataLoader(dataset, 5, trace=False))
    next(iterator)
    dataset.target_transform = repr
    (seen,) = warned(lambda: next(iterator))
    assert seen.filename == __file__


def test_a_loader_that_goes_from_one_door_of_go_s_to_another_has_not_stopped(root: Path) -> None:
    dataset = ImageFolder(str(root), T.Compose([T.CenterCrop(30), T.ToTensor()]))
    loader = goloader.DataLoader(dataset, 5, on_fallback="error")
    list(loader)
    dataset.transform.transforms.insert(0, T.GaussianBlur(3))
    assert not warned(lambda: list(loader))


def test_stopped_is_told_once_for_each_reason() -> None:
    first, second = (
        Refusal("source", "A", "it differs", "RECORDING_ENDED"),
        Refusal("source", "B", "it differs", "LABELS"),
    )
    seen = warned(lambda: [_told.stopped(each, "Please report this.") for each in (first, second, first)])
    assert [str(each.message) for each in seen] == [
        f"goloader: {each} [{each.code}]: from now on this runs in Python, as with torch. Please report this."
        for each in (first, second)
    ]


def test_the_log_has_decisions_and_warnings(dataset: ImageFolder, caplog: pytest.LogCaptureFixture) -> None:
    loaders = goloader.DataLoader(dataset, 5), goloader.DataLoader(Stream(), on_fallback="warn", trace=False)
    with caplog.at_level(logging.INFO, "goloader"):
        for loader in loaders * 2:
            warned(lambda loader=loader: list(loader))  # type: ignore[misc]
    assert not logging.getLogger("goloader").handlers
    told = "trace=False: recording is turned off"
    epochs = [
        each for each in caplog.records if each.getMessage().startswith("epoch ")
    ]  # tests_py/loader/test_stats.py
    assert len(epochs) == 4
    assert [(each.levelname, each.getMessage()) for each in caplog.records if each not in epochs] == [
        ("INFO", "DataLoader over ImageFolder: Go"),
        ("INFO", f"DataLoader over Stream: Stream: an IterableDataset runs its own code; {told}"),
        ("WARNING", "goloader: DataLoader runs in Python: Stream: an IterableDataset runs its own code [ITERABLE]"),
        ("WARNING", f"goloader: DataLoader runs in Python: {told} [TRACE_OFF]"),
    ]  # fmt: skip


# explain()


def test_all_that_keeps_a_loader_from_go_is_named(root: Path) -> None:
    steps = [T.ElasticTransform(sigma=0.5), T.CenterCrop(30), T.AugMix(), T.ToTensor()]
    loader = goloader.DataLoader(ImageFolder(str(root), T.Compose(steps)), collate_fn=list, trace=False)
    told = loader.explain()
    assert told.codes == ("TRANSFORM_UNKNOWN", "COLLATE_OWN", "TRACE_OFF")
    (row,) = (row for row in told if row.code == "TRANSFORM_UNKNOWN")
    assert "ElasticTransform" in row.why and "AugMix" in row.why and "CenterCrop" not in row.why


@pytest.mark.parametrize("num_workers", [0, 2])
def test_what_go_makes_by_recording_is_not_called_unknown(root: Path, num_workers: int) -> None:
    blurred = ImageFolder(str(root), T.Compose([T.GaussianBlur(3), T.CenterCrop(30), T.ToTensor()]))
    for dataset in Recorded(root), blurred:
        loader = goloader.DataLoader(dataset, 4, num_workers=num_workers, on_fallback="error")
        for _ in range(2):
            list(loader)
        told = loader.explain()
        assert told.native and told.native_fraction == 1.0 and not told.codes, told
        assert "not known" not in str(told) and "runs as torch's" not in str(told) and "does not know" not in str(told)


def test_the_native_fraction_is_of_images_made_or_of_stages() -> None:
    rows = [
        Row("sampler", "a", "Python"),
        Row("source", "b", "Go"),
        Row("collate", "c", "Python", "own", "COLLATE_OWN"),
    ]
    assert Explanation(rows).native_fraction == 0.5
    assert Explanation(rows[:1]).native_fraction == 0.0
    counts = {"samples": 8, "batches": 1, "pillow_samples": 2, "read_ahead": 0, "read_retries": 0, "seek_entries": 0}
    assert Explanation(rows).counted(counts).native_fraction == 0.75
    assert Explanation(rows, 0.25).counted(counts).native_fraction == 0.25


class Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert not attrs
        self.tags.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        self.cells[-1] += data


def test_an_explanation_is_json_and_html() -> None:
    told = Explanation([Row("source", "<b>&\"'", "Python", "it <script>", "CODE_UNREAD"), Row("collate", "c", "Go")])
    assert json.loads(json.dumps(told.to_dict())) == {
        "native_fraction": 0.5,
        "rows": [
            {"stage": "source", "what": "<b>&\"'", "where": "Python", "why": "it <script>", "code": "CODE_UNREAD"},
            {"stage": "collate", "what": "c", "where": "Go", "why": "", "code": ""},
        ],
    }
    cells = Cells()
    cells.feed(told._repr_html_())
    assert cells.tags == ["table", *["tr", *["th"] * 4], *["tr", *["td"] * 4] * 2]
    assert cells.cells == [
        *("stage", "what", "where", "why"),
        *("source", "<b>&\"'", "Python", "it <script> [CODE_UNREAD]"),
        *("collate", "c", "Go", ""),
    ]


@pytest.mark.filterwarnings("default:.*the core does not take its plan")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_plan_that_the_core_does_not_take_is_left_to_python(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = torch.arange(40.0).view(20, 2)
    loader = goloader.DataLoader(data.TensorDataset(rows), batch_size=4, num_workers=workers)
    assert loader.explain().native
    monkeypatch.setattr(trial, "_refused", {})
    monkeypatch.setattr(choice, "Core", Mock(side_effect=goloader.PlanError("parts[0]: not known")))
    batches: list[Any] = []
    (told,) = warned(lambda: batches.extend(loader))
    assert torch.equal(torch.cat([batch for (batch,) in batches]), rows)
    assert "[PLAN]: from now on this runs in Python" in str(told.message) and told.filename == __file__
    assert loader.explain().codes[0] == "PLAN" and len(list(loader)) == 5
    monkeypatch.setattr(trial, "_refused", {})
    with pytest.raises(goloader.FallbackError, match="PLAN"):
        iter(goloader.DataLoader(loader.dataset, batch_size=4, num_workers=workers, on_fallback="error"))
    monkeypatch.undo()
    assert loader.explain().native
