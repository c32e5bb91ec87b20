"""Past diagnoses: their inputs (secrets replaced), answers and outcomes.

Importing this package imports no database; :mod:`kvdoctor.history.store` does, when it is used.
"""

from __future__ import annotations

import os

VARIABLE = "KVDOCTOR_HISTORY"
OFF = ("off", "0", "no", "false", "never")
ON = ("on", "1", "yes", "true", "always")


def switched_off(no_history: bool = False) -> str:
    """What switched the history off, in words; "" when it is on. Raises InputError for a value of
    the variable that says neither: nothing is kept against somebody's will."""
    if no_history:
        return "--no-history"
    stated = os.environ.get(VARIABLE, "").strip()
    if stated and stated.lower() not in (*OFF, *ON):
        from kvdoctor.errors import InputError

        raise InputError(f"{VARIABLE}={stated}: neither on nor off", remedy="say on or off")
    if stated:
        return f"{VARIABLE}={stated}" if stated.lower() in OFF else ""
    from kvdoctor.settings import load

    settings = load()
    return "" if settings.history else f"history = false in {settings.file}"
