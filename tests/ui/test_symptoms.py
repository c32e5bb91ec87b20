"""No error message: the tree of symptoms on the screen."""

from __future__ import annotations

from dataclasses import replace

from made_up import knowledge
from screens import app, drawn, settled, told, until

from kvdoctor.ui.symptoming import SymptomScreen

TREE = {
    "first": "hangs",
    "questions": {
        "hangs": {
            "text": "What do you see?",
            "check": "curl -s localhost:8200/health",
            "look": "whether it answers",
            "answers": [
                {"id": "slow", "text": "requests are slow", "next": "where"},
                {"id": "none", "text": "nothing of it", "say": "Then look at the router."},
            ],
        },
        "where": {
            "text": "On which side?",
            "answers": [{"id": "decode", "text": "decode", "records": ["widget-missing"]}],
        },
    },
}


async def test_answers_lead_to_a_record_and_esc_takes_one_back() -> None:
    screen = app(knowledge=replace(knowledge(), symptoms=TREE))
    async with screen.run_test(size=(80, 24)) as pilot:
        await pilot.press("s")
        await until(pilot, lambda: isinstance(screen.screen, SymptomScreen), "the questions")
        page = "\n".join(drawn(screen))
        assert "1. What do you see?" in page
        assert "curl -s localhost:8200/health" in page
        await pilot.press("enter")
        assert "2. On which side?" in "\n".join(drawn(screen))
        await pilot.press("escape")
        assert "1. What do you see?" in "\n".join(drawn(screen))
        await pilot.press("enter", "enter")
        assert "A widget is missing" in "\n".join(drawn(screen))
        await pilot.press("enter")
        await settled(pilot, "values")
        assert screen.state.visit.record == "widget-missing"


async def test_an_end_without_a_record_says_what_to_do() -> None:
    screen = app(knowledge=replace(knowledge(), symptoms=TREE))
    async with screen.run_test(size=(80, 24)) as pilot:
        await pilot.press("s")
        await until(pilot, lambda: isinstance(screen.screen, SymptomScreen), "the questions")
        await pilot.press("down", "enter")
        page = "\n".join(drawn(screen))
        assert "Then look at the router." in page
        assert "lead to no record" in page
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not isinstance(screen.screen, SymptomScreen), "the start")


async def test_without_a_tree_it_says_so() -> None:
    screen = app()
    async with screen.run_test() as pilot:
        await pilot.press("s")
        await told(pilot, "no tree of symptoms")
