"""Hostile values through the whole way: what is shown, noted and copied does nothing by itself."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kvdoctor.intake import read
from kvdoctor.load import load
from kvdoctor.report import Report, Source, read_sources, report
from kvdoctor.show.document import document
from kvdoctor.show.note import FORMATS, incident_note
from kvdoctor.show.plain import report_text

ERROR = (
    "(Worker_TP0 pid=7) ERROR 11-30 19:57:30 [core.py:1] Traceback (most recent call last):\n"
    "AssertionError: Local block size 32 is not divisible by remote block size 128 or vice versa.\n"
)
CANARY = "canary"
MODELS = (
    f"x; touch {CANARY}",
    f"$(touch {CANARY})",
    f"`touch {CANARY}`",
    f"x' ; touch {CANARY} ; '",
    f'x" ; touch {CANARY} ; "',
    f"x\\'; touch {CANARY}; #",
    f"x && touch {CANARY} | touch {CANARY} > {CANARY}",
    f"${{IFS}}$(touch${{IFS}}{CANARY})",
    "!touch",
    "*",
    "~root",
    '{"a": "b"}',
    "</script><b>[/bold]",
    "[link](javascript:x)",
)
KNOWN = load(private=False)
SHELL = "" if sys.platform == "win32" else shutil.which("bash") or shutil.which("sh") or ""


def command_of(model: str) -> str:
    config = json.dumps({"kv_connector": "NixlConnector", "kv_role": "kv_consumer"})
    return shlex.join(
        ["vllm", "serve", model, "--block-size", "32", "--kv-transfer-config", config]
    )


def shown(text: str) -> Report:
    found = read_sources([Source(read(text, knowledge=KNOWN.reading), "decode")], KNOWN)
    return report(found, KNOWN, answers={"vllm_release": "0.32.0"})


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """A folder with a ``vllm`` that only writes down its arguments."""
    script = tmp_path / "bin" / "vllm"
    script.parent.mkdir()
    script.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        "open('arguments.json', 'a').write(json.dumps(sys.argv[1:]) + chr(10))\n"
    )
    script.chmod(0o755)
    return tmp_path


def ran(text: str, folder: Path) -> list[list[str]]:
    """The arguments of every vllm that a shell started for ``text``."""
    written = folder / "arguments.json"
    written.unlink(missing_ok=True)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        [SHELL, "-c", text], cwd=folder, env={"PATH": path, "HOME": str(folder)}, timeout=20,
        check=False, stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    assert not (folder / CANARY).exists(), text
    return [json.loads(line) for line in written.read_text().splitlines()]


@pytest.mark.skipif(not SHELL, reason="needs a shell")
@pytest.mark.parametrize("model", MODELS)
def test_a_changed_command_starts_vllm_with_the_same_model_and_nothing_else(
    model: str, fake: Path
) -> None:
    one = shown(f"+ {command_of(model)}\n{ERROR}")
    changed = [fix for fix in one.fixes if fix.after]
    assert changed, [fix.fix.id for fix in one.fixes]
    for fix in changed:
        (arguments,) = ran(fix.after, fake)
        assert arguments[:2] == ["serve", model]
        config = arguments[arguments.index("--kv-transfer-config") + 1]
        assert json.loads(config)["kv_role"] == "kv_consumer"


@pytest.mark.skipif(not SHELL, reason="needs a shell")
@pytest.mark.parametrize("model", MODELS)
def test_a_command_put_together_from_the_log_is_quoted(model: str, fake: Path) -> None:
    listed = {"model_tag": model, "model": model, "block_size": 32}
    head = "(APIServer pid=1) INFO 11-30 19:57:20 [api_utils.py:286] non-default args: "
    one = shown(f"{head}{listed!r}\n{ERROR}")
    assert one.fixes
    for fix in one.fixes:
        for text in (fix.after, f"vllm serve m {fix.fix.snippet}"):
            if text.startswith("vllm ") and "\n" not in text:
                for arguments in ran(text, fake):
                    assert arguments[0] == "serve"


@pytest.mark.parametrize("model", [*MODELS, "\x1b]52;c;eA==\x07", "\x1b]8;;http://x\x1b\\y"])
def test_no_output_carries_what_a_terminal_or_a_page_acts_on(model: str) -> None:
    one = shown(f"+ {command_of(model)}\n{ERROR}RuntimeError: {model}\n")
    line = json.dumps(document(one), ensure_ascii=False)
    assert "\n" not in line and json.loads(line)
    texts = [report_text(one, KNOWN), line]
    texts += [incident_note(one, KNOWN, form) for form in FORMATS]
    for text in texts:
        assert not any(sign in text for sign in ("\x1b", "\x07", "\x9b", "\x9d"))
    assert "<b>" not in incident_note(one, KNOWN, "slack")


def test_every_snippet_of_a_json_kind_is_json() -> None:
    one = shown(f"+ {command_of('m')}\n{ERROR}")
    for fix in one.fixes:
        snippet = fix.fix.snippet.strip()
        if snippet.startswith("{"):
            json.loads(snippet)
        else:
            shlex.split(snippet, comments=True)
