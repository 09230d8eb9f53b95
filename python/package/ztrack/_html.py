"""Tables of notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A title and rows of a name and a value."""
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(str(value))}</td></tr>' for name, value in rows
    )
    return f"<table><caption>{escape(title)}</caption>{cells}</table>"


def error_bar(value: float, std_error: float) -> str:
    """A value in nats with its error."""
    return f"{value:.4f} nats, exact" if std_error == 0 else f"{value:.3f} ± {std_error:.3f} nats"
