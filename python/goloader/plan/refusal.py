"""Why something runs in Python: an answer, not an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Refusal:
    """What torch's own path has to run, and why.

    stage  "source", "transform", "sampler", "collate" or "loader": the row of explain() it belongs to
    what   the object, as a user would find it
    why    the reason, a sentence without its full stop
    code   the reason for programs, of plan.reasons
    """

    stage: str
    what: str
    why: str
    code: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


class RefusalError(Exception):
    """Carries a Refusal out of nested calls; never leaves goloader.plan."""

    def __init__(self, stage: str, what: str, why: str, code: str = "") -> None:
        super().__init__(f"{what}: {why}")
        self.refusal = Refusal(stage, what, why, code)


class SourceRefusal(RefusalError):
    """Of a dataset."""

    def __init__(self, what: str, why: str, code: str) -> None:
        super().__init__("source", what, why, code)


class TransformRefusal(RefusalError):
    """Of a transform."""

    def __init__(self, what: str, why: str, code: str) -> None:
        super().__init__("transform", what, why, code)


def granted(answer: T | Refusal) -> T:
    """An answer that is no refusal. Raises RefusalError for one."""
    if isinstance(answer, Refusal):
        raise RefusalError(answer.stage, answer.what, answer.why, answer.code)
    return answer


def refuses(check: Callable[..., object], *arguments: Any) -> bool:
    """Whether a check raises RefusalError."""
    try:
        check(*arguments)
    except RefusalError:
        return True
    return False
