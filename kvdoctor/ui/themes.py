"""The looks of the screen: dark, light, and one of high contrast."""

from __future__ import annotations

from textual.app import App
from textual.theme import Theme

CONTRAST = "high-contrast"
ORDER = ("textual-dark", "textual-light", CONTRAST)


def contrast() -> Theme:
    """White and bright colours on black: every text at seven to one or more."""
    return Theme(
        CONTRAST,
        primary="#ffffff",
        secondary="#00ffff",
        accent="#ffff00",
        warning="#ffd700",
        error="#ff9090",
        success="#70ff70",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#202020",
        dark=True,
        variables={
            "text-muted": "#ffffff",
            "text-error": "#ff9090",
            "text-warning": "#ffd700",
            "text-success": "#70ff70",
            "text-accent": "#ffff00",
            "footer-key-foreground": "#ffff00",
            "footer-background": "#000000",
            "footer-foreground": "#ffffff",
            "error-muted": "#600000",
        },
    )


def following(app: App[int]) -> str:
    """Take the next look; its name."""
    if CONTRAST not in app.available_themes:
        app.register_theme(contrast())
    at = ORDER.index(app.theme) if app.theme in ORDER else -1
    app.theme = ORDER[(at + 1) % len(ORDER)]
    return {"textual-dark": "dark", "textual-light": "light"}.get(app.theme, "high contrast")
