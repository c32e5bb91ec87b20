"""Proof against vLLM itself: the guards of the user's own installation, really called.

:func:`prove` runs the guard functions that a record names in a subprocess with the user's
interpreter: once with the values that failed and once with the values after a fix. vLLM is never
imported here, and nothing is downloaded there.
"""

from __future__ import annotations
