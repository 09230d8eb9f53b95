"""What can go wrong. Every exception of the package is a :class:`ZtrackError`, and of Python's own kind beside it."""

from __future__ import annotations


class ZtrackError(Exception):
    """Base of all exceptions of this package."""


class InvalidError(ZtrackError, ValueError):
    """Arguments that cannot be used: shapes that do not fit, NaN, numbers out of range."""


class TooLargeError(InvalidError, MemoryError):
    """More memory than there is, or more states than can be enumerated."""


class DivergedError(InvalidError, ArithmeticError):
    """Parameters became NaN, infinite or far too large: a lower learning rate is needed."""


class NotMixedError(ZtrackError, RuntimeError):
    """Chains do not move enough for what they are asked for."""


class ConfigError(ZtrackError, ValueError):
    """A setting that cannot be used; the message names its field."""


class FileError(ZtrackError, ValueError):
    """A file whose content is not what it should be."""


class IoError(ZtrackError, OSError):
    """The operating system refused a file operation."""


class Interrupted(ZtrackError, RuntimeError):
    """A progress callback returned False."""


class InternalError(ZtrackError, RuntimeError):
    """A mistake of ztrack itself; please report it."""


class MissingPackageError(ZtrackError, ImportError):
    """A function needs a package that is not installed; the message says which."""
