"""Packages that only some functions need."""

from __future__ import annotations

from typing import Any

from ._errors import MissingPackageError


def need(name: str) -> Any:
    """The package, or an exception that says that it is missing."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.split(".")[0].replace("sklearn", "scikit-learn")
        raise MissingPackageError(f"this needs the package {package}: pip install {package}") from error
