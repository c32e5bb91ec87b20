"""kvdoctor: from a pasted vLLM log to the root cause of a KV-cache failure and a proven fix.

Offline and deterministic; no language model is involved anywhere. For programs::

    from kvdoctor import diagnose

:mod:`kvdoctor.api` tells the rest; it is imported when it is first asked for.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kvdoctor.api import diagnose, explain, prove

__all__ = ["__version__", "diagnose", "explain", "prove"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name in ("diagnose", "explain", "prove"):
        from kvdoctor import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
