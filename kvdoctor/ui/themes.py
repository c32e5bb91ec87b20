"""The looks of the screen: dark, light, and one of high contrast."""

from __future__ import annotations

from textual.app import App
from textual.theme import Theme

DARK, LIGHT, CONTRAST = "textual-dark", "kvdoctor-light", "high-contrast"
ORDER = (DARK, LIGHT, CONTRAST)
NAMED = {"dark": DARK, "light": LIGHT, "high-contrast": CONTRAST}  # as the user writes them


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


def light() -> Theme:
    """Dark text on white; the coloured words are dark enough to be read on it."""
    return Theme(
        LIGHT,
        primary="#004578",
        secondary="#0060a0",
        accent="#7a3e00",
        warning="#6b4a00",
        error="#a0122c",
        success="#0b5d1e",
        foreground="#111111",
        background="#ffffff",
        surface="#f4f4f4",
        panel="#e2e6ea",
        dark=False,
        variables={
            "text-muted": "#444444",
            "text-error": "#a0122c",
            "text-warning": "#6b4a00",
            "text-success": "#0b5d1e",
            "text-accent": "#7a3e00",
            "footer-key-foreground": "#7a3e00",
            "error-muted": "#f4c8cf",
        },
    )


def take(app: App[int], name: str) -> None:
    """Give the screen the look called ``name``."""
    for made in (light, contrast):
        if made().name not in app.available_themes:
            app.register_theme(made())
    app.theme = name


def following(app: App[int]) -> str:
    """Take the next look; what to call it."""
    at = ORDER.index(app.theme) if app.theme in ORDER else -1
    take(app, ORDER[(at + 1) % len(ORDER)])
    return {DARK: "dark", LIGHT: "light"}.get(app.theme, "high contrast")
