"""Text tables; the first row is the head."""

from __future__ import annotations

from collections.abc import Container, Sequence
from html import escape

Cells = Sequence[Sequence[str]]


def text(cells: Cells, right: Container[int] = ()) -> str:
    """Aligned lines; columns of these numbers stand to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    )


def html(cells: Cells) -> str:
    """For notebooks."""
    head, *body = (
        "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in line)
        for tag, line in zip(["th", *["td"] * (len(cells) - 1)], cells, strict=True)
    )
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in body)}</table>"
