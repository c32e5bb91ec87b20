"""Whose code raised, told by frames and modules and never by words."""

from __future__ import annotations

from kvdoctor.intake.paste import Failure, Frame


def one_line(text: str) -> str:
    """``text`` on one line, as JSON and lists show it."""
    return " ".join(text.split())


def short_name(exception: str) -> str:
    """Class name without its module."""
    return exception.rpartition(".")[2]


def package_of(frame: Frame) -> str:
    """Top package of a frame's file; "" for the standard library and files of no package."""
    module = frame.module
    if not module or module.startswith(("/", "<", ".")) or "/" not in module:
        return ""
    return module.partition("/")[0]


def owner_of(failure: Failure) -> str:
    """The project whose code raised: the innermost frame that is in a package, else the module of
    the exception class; "" when neither says."""
    for frame in reversed(failure.frames):
        package = package_of(frame)
        if package and package not in ("pydantic", "pydantic_core", "pydantic_settings"):
            return package
    module = failure.exception.rpartition(".")[0].partition(".")[0]
    return module if module not in ("builtins", "pydantic_core", "pydantic") else ""
