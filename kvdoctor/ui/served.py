"""The screen in a browser: copies go to the page, which says what became of them."""

from __future__ import annotations

import os
import queue
import threading
from typing import Any

from textual import messages
from textual.app import App
from textual.drivers.web_driver import WebDriver

ANSWER_SECONDS = 3.0


class ServedDriver(WebDriver):
    """Textual's driver of web pages, with an answer for a copied text, whole packets from several
    threads, and an end when the server is gone."""

    def __init__(self, app: App[Any], **given: Any) -> None:
        super().__init__(app, **given)
        self._writing = threading.Lock()
        self._answers: dict[str, queue.Queue[str]] = {}
        self._handed = 0
        self._write = self._whole  # type: ignore[assignment]

    def _whole(self, data: bytes) -> None:
        """Downloads are written by the thread that reads keys, amid the drawing of another."""
        rest = memoryview(data)
        with self._writing:
            while rest:
                try:
                    rest = rest[os.write(self.fileno, rest) :]
                except OSError:  # nobody reads any more: the end of the input says so too
                    return

    def hand(self, text: str) -> str:
        """Give the page a text for the browser's clipboard; to be called from a thread. Returns
        "copied", "shown" (the page shows it, to be copied by hand) or "" for no answer."""
        answer: queue.Queue[str] = queue.Queue()
        self._handed += 1
        key = str(self._handed)
        self._answers[key] = answer
        self.write_meta({"type": "copy", "key": key, "text": text})
        try:
            return answer.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            return ""
        finally:
            del self._answers[key]

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        if packet_type != "copied":
            super().on_meta(packet_type, payload)
            return
        outcome, answer = payload.get("outcome"), self._answers.get(str(payload.get("key")))
        if answer is not None and outcome in ("copied", "shown"):
            answer.put(str(outcome))

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._app.post_message(messages.ExitApp())
