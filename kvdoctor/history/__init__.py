"""Past diagnoses: their inputs (secrets replaced), answers and outcomes.

Importing this package imports no database; :mod:`kvdoctor.history.store` does, when it is used.
"""

from __future__ import annotations

import os

VARIABLE = "KVDOCTOR_HISTORY"
OFF = ("off", "0", "no", "false", "never")


def switched_off(no_history: bool = False) -> str:
    """What switched the history off, in words; "" when it is on."""
    if no_history:
        return "--no-history"
    stated = os.environ.get(VARIABLE, "").strip()
    if stated:
        return f"{VARIABLE}={stated}" if stated.lower() in OFF else ""
    from kvdoctor.settings import load

    settings = load()
    return "" if settings.history else f"history = false in {settings.file}"
