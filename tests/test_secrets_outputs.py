"""Secrets planted in a real failure log in many forms stand in nothing that kvdoctor gives."""

from __future__ import annotations

import json
import sqlite3
import zlib
from pathlib import Path

import pytest
from test_secrets_broken import wrapped

from kvdoctor import diagnose
from kvdoctor.cli import main
from kvdoctor.history.entry import pack
from kvdoctor.intake import read

CASE = Path(__file__).with_name("cases") / "061-nixl-blocksize-d-smaller" / "decode.log"
HEAD = "(EngineCore_DP0 pid=77) ERROR 12-01 05:00:01 [core.py:99] "
CRI = "2026-12-01T05:00:00.1Z stdout"


def secret(number: int) -> str:
    return f"S{number:02}x{'Qm9iT3V4N2hKc1BkZ1h2WkE4cUx5RTJ3'[number % 8 :][:22]}Z{number:02}q"


EVERY = [secret(number) for number in range(20)]
PLANTED = [
    f"{HEAD}RuntimeError: using hf_{EVERY[0]}{EVERY[0][:6]} to download",
    *wrapped(f"{HEAD}{'y' * 9} using hf_{EVERY[1]}abcdef01 to download", 80),
    f"{HEAD}Authorization: Bearer",
    EVERY[2],
    f"vllm serve m --api-key {EVERY[3]} --block-size 32",
    "vllm serve m \\",
    "  --api-key \\",
    f"  {EVERY[4]} --port 8000",
    f"{HEAD}RuntimeError: cannot connect to redis://:{EVERY[5]}@redis-0:6379/0",
    *wrapped(f"{HEAD}{'z' * 12} failed https://bot:{EVERY[6]}@git.example/a", 100),
    json.dumps({"log": f"OPENAI_API_KEY={EVERY[7]}\n", "stream": "stderr"}),
    json.dumps({"log": f"headers {{'x-api-key': '{EVERY[8]}'}}\n", "stream": "stderr"}),
    f"{HEAD}env HF_TOKEN=hf_{EVERY[9][:12]}\x1b[31m{EVERY[9][12:]}00112233",
    "-----BEGIN RSA PRIVATE KEY-----",
    *[EVERY[10] * 2] * 5,
    "-----END RSA PRIVATE KEY-----",
    *[
        HEAD + row
        for row in ("-----BEGIN PRIVATE KEY-----", EVERY[11] * 2, "-----END PRIVATE KEY-----")
    ],
    f"Cookie: session={EVERY[12]}\r",
    "- name: DB_PASSWORD",
    f"  value: {EVERY[13]}",
    "password: |",
    f"  {EVERY[14]}",
    f"GET /x?sv=1&sig={EVERY[15]}%2F{EVERY[15]}&se=1",
    f"{HEAD}ValueError: bad header Authorization: Basic {EVERY[16]}==",
    f"curl -s -u admin:{EVERY[17]} http://h:8000/v1",
    f"{CRI} P {HEAD}{'k' * 300} token=h",
    f"{CRI} F f_{EVERY[18]}abcdef01 done",
    "- --api-key",
    f"- {EVERY[19]}",
]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    rows = CASE.read_text("utf-8").split("\n")
    middle = len(rows) // 2
    rows[middle:middle] = PLANTED
    file = tmp_path / "decode.log"
    file.write_bytes("\n".join([*PLANTED, *rows, *PLANTED, ""]).encode())
    return file


def nothing_of(text: str) -> None:
    assert text
    bare = "".join(text.split())
    assert not [one for one in EVERY for at in (0, 9, -10) if one[at:][:10] in bare]


@pytest.mark.parametrize(
    "words",
    [
        ["diagnose"], ["diagnose", "--json"], ["diagnose", "--note", "markdown"],
        ["diagnose", "--note", "slack"], ["diagnose", "--note", "plain"],
        ["diagnose", "--note", "issue"], ["scan"], ["scan", "--json"], ["scan", "--thorough"],
        ["scan", "--open", "1"], ["scan", "--open", "2", "--json"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_no_output_of_a_command_shows_one(
    words: list[str], log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([words[0], str(log), *words[1:]])
    out, err = capsys.readouterr()
    nothing_of(out + err)


def test_the_lines_around_a_place_are_written_without_them(log: Path) -> None:
    for row in (1, 2, 3):
        out = log.with_name(f"{row}.log")
        main(["scan", str(log), "--open", str(row), "--out", str(out)])
        nothing_of(out.read_text("utf-8"))
        assert "block_size" in out.read_text("utf-8")


def test_the_view_of_the_log_a_stored_diagnosis_and_the_api_hold_none(log: Path) -> None:
    data = log.read_bytes()
    paste = read(data, "decode.log")
    nothing_of("\n".join([paste.text, *(line.text for line in paste.lines)]))
    nothing_of(repr((paste.failures, paste.records)))
    nothing_of(zlib.decompress(pack(data, "decode.log", "decode").data).decode())
    nothing_of(json.dumps(diagnose(decode=log).to_json()))


def test_an_error_that_quotes_what_was_typed_shows_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for words in (
        ["explain", f"RuntimeError: Authorization: Bearer {EVERY[0]} was refused"],
        ["diagnose", str(tmp_path / f"hf_{EVERY[0]}")],
        ["diagnose", str(CASE), "--set", f"remote_block_size=hf_{EVERY[0]}"],
    ):
        main(words)
        out, err = capsys.readouterr()
        nothing_of(out + err)


def test_the_history_of_the_screen_holds_none(log: Path, tmp_path: Path) -> None:
    pytest.importorskip("textual")
    import os

    from terminals import Terminal

    terminal = Terminal(
        [str(log)], {**os.environ, "TERM": "xterm-256color", "KVDOCTOR_HISTORY": "on"}
    )
    try:
        terminal.wait_for("not a multiple")
        terminal.send("\r")
        terminal.wait_for("--block-size")
        terminal.send("\x11")
        assert terminal.ended() == 0
    finally:
        terminal.close()
    files = [one for one in (tmp_path / "XDG_STATE_HOME").rglob("*") if one.is_file()]
    assert any(one.suffix == ".db" for one in files)
    for file in files:
        nothing_of(file.read_bytes().decode("latin-1"))
    (database,) = [one for one in files if one.suffix == ".db"]
    made = sqlite3.connect(database)
    stored = [row[0] for row in made.execute("SELECT data FROM inputs")]
    made.close()
    assert stored
    for data in stored:
        nothing_of(zlib.decompress(data).decode())
