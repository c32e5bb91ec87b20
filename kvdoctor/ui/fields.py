"""Fields to type into, on pages that also take a pasted log."""

from __future__ import annotations

from textual import events
from textual.widgets import Input


class Field(Input):
    """A paste of several lines is a text for the application, no answer."""

    def _on_paste(self, event: events.Paste) -> None:
        if self.leaves(event.text):
            event.prevent_default()  # Input would take the first line and stop the rest

    def leaves(self, pasted: str) -> bool:
        """Whether a paste is not for this field."""
        return "\n" in pasted.strip() or "\r" in pasted.strip()


class PathField(Field):
    """For the path of a file: whether a paste is one, the application finds out."""

    def leaves(self, pasted: str) -> bool:
        return True
