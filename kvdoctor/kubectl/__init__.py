"""``kubectl kvdoctor``: the logs and manifests of pods, read with kubectl and diagnosed."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """The plugin; returns the exit status."""
    import sys

    from kvdoctor.cli import guarded
    from kvdoctor.kubectl.plugin import run

    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: run(arguments))
