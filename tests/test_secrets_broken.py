"""Secrets that a terminal, a log shipper or an escape broke over rows are replaced all the same."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kvdoctor.intake import read
from kvdoctor.intake.pieces import SIZE
from kvdoctor.intake.redact import redact, redact_parts

R = "Qm9iT3V4N2hKc1BkZ1h2WkE4cUx5RTJ3"  # 32 characters as a generator of tokens gives them
JWT = f"eyJ{R}{R}.{R[::-1]}{R}"
SECRETS = {  # a row that holds a secret → the secret
    f"using hf_{R}Ab to download the model": f"hf_{R}Ab",
    f"request headers: Authorization: Bearer {R}{R}": f"{R}{R}",
    f"authorization: Basic {R}{R[:10]}==": f"{R}{R[:10]}",
    f"env OPENAI_API_KEY=sk-proj-{R}{R[::-1]} set": f"sk-proj-{R}{R[::-1]}",
    f"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/{R[:20]}": f"wJalrXUtnFEMI/K7MDENG/{R[:20]}",
    "credentials AKIAIOSFODNN7EXAMPLE of the bucket": "AKIAIOSFODNN7EXAMPLE",
    f"cloning https://bot:ghp_{R}Abcd@git.example/a/b": f"ghp_{R}Abcd",
    f"store redis://:{R[:24]}@redis-0:6379/0": R[:24],
    f"using eyJhbGciOiJIUzI1NiJ9.{JWT}": f"eyJhbGciOiJIUzI1NiJ9.{JWT}",
    f"vllm serve m --api-key {R} --port 8000": R,
    f"{{'api_key': '{R}', 'port': 8000}}": R,
    f"GET /c?sv=2022-11-02&sig={R}%2F{R}%3D&se=2027": f"{R}%2F{R}",
    f"Cookie: session={R}{R}": f"{R}{R}",
}
PIECE = 8  # characters of a secret that must not be shown anywhere
VLLM = "(EngineCore_DP0 pid=77) INFO 12-01 05:00:00 [core.py:58] "
SHIPPERS: dict[str, Callable[[int, str], str]] = {
    "bare": lambda at, row: row,
    "carriage returns": lambda at, row: row + "\r",
    "kubectl --prefix": lambda at, row: f"[pod/decode-0/vllm] {row}",
    "compose": lambda at, row: f"decode-1  | {row}",
    "kubectl --timestamps": lambda at, row: f"2026-12-01T05:00:0{at % 10}.123456789Z {row}",
    "syslog": lambda at, row: f"Dec  1 05:00:0{at % 10} node-7 vllm[4711]: {row}",
    "CRI": lambda at, row: f"2026-12-01T05:00:00.123456789Z stdout F {row}",
    "docker": lambda at, row: json.dumps({"log": row + "\n", "stream": "stderr", "time": "x"}),
    "fluent bit": lambda at, row: json.dumps({"time": "x", "log": row, "kubernetes": {"pod": "d"}}),
    "quoted": lambda at, row: f"> {row}",
    "box": lambda at, row: f"│ {row:<130} │",
}


def shows(text: str, secret: str) -> list[str]:
    """The pieces of ``secret`` that stand in ``text``, also over line ends."""
    pieces = [secret[at : at + PIECE] for at in range(len(secret) - PIECE + 1)]
    bare = "".join(text.split())
    return [one for one in pieces if one in text or one in bare]


def wrapped(row: str, width: int) -> list[str]:
    return [row[at : at + width] for at in range(0, len(row), width)]


def gone(text: str, secret: str) -> None:
    once, count = redact(text)
    assert count > 0
    assert not shows(once, secret), once
    assert once.count("\n") == text.count("\n")
    assert redact(once) == (once, 0), "what was replaced once stays"


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("row", SECRETS)
def test_a_row_that_was_broken_at_a_width_shows_nothing_wherever_the_break_is(
    row: str, width: int
) -> None:
    secret = SECRETS[row]
    place = row.index(secret)
    for inside in range(-4, len(secret), 3):
        front = "x" * (width - 1 - place - inside) + " "
        text = "\n".join(["INFO before", *wrapped(front + row, width), "INFO behind", "x" * 150])
        gone(text, secret)


@pytest.mark.parametrize("shipper", SHIPPERS)
@pytest.mark.parametrize("row", SECRETS)
def test_a_shipper_that_breaks_rows_at_any_width_shows_no_half_of_a_secret(
    row: str, shipper: str
) -> None:
    secret = SECRETS[row]
    place = row.index(secret)
    form = SHIPPERS[shipper]
    # a mark that is itself broken at an unusual width cannot be known: break behind it
    for inside in (12, len(secret) // 2, len(secret) - 9):
        rows = [row[: place + inside], row[place + inside :]]
        text = "\n".join(form(at, one) for at, one in enumerate(["INFO before", *rows]))
        gone(text + "\n" + "y" * 333 + "\n", secret)


@pytest.mark.parametrize("shipper", SHIPPERS)
@pytest.mark.parametrize(
    "head", ["Authorization: Bearer", "authorization: Basic", "OPENAI_API_KEY=", "'api_key':",
             "hf_token:", "vllm serve m --api-key"],
)  # fmt: skip
def test_a_value_on_the_row_below_its_name_is_replaced(head: str, shipper: str) -> None:
    form = SHIPPERS[shipper]
    value = f"'{R}'" if head.endswith("':") else R
    gone("\n".join(form(at, one) for at, one in enumerate([f"x {head}", value, "INFO z"])), R)


def test_the_parts_that_a_runtime_makes_of_a_long_row_are_read_as_one() -> None:
    row = "z" * 5000 + f" using hf_{R}Ab to download"
    cut = row.index("hf_") + 1
    cri = [
        f"2026-12-01T05:00:00.1Z stdout P {row[:cut]}",
        f"2026-12-01T05:00:00.1Z stdout F {row[cut:]}",
    ]
    gone("\n".join(cri), R)
    docker = [{"log": row[:cut], "stream": "stdout"}, {"log": row[cut:] + "\n", "stream": "stdout"}]
    gone("\n".join(json.dumps(one) for one in docker), R)


@pytest.mark.parametrize("width", range(93, 120, 5))
def test_a_mark_that_is_itself_broken_at_an_unusual_width_is_known(width: int) -> None:
    head = VLLM.replace("INFO", "ERROR")
    for row, secret in SECRETS.items():
        for part in ("hf", "h", "Authorization: Bea", "OPENAI_API_K", "AWS_SECRET_ACC", "{'api_k"):
            if part in row:
                place = row.index(part) + len(part)
                whole = head + "x" * (width - len(head) - place - 1) + " " + row
                text = f"INFO short\n{whole[:width]}\n{whole[width:]}\nINFO next\n"
                gone(text, secret)
                assert not shows(read(text).text, secret)


KEY = ["-----BEGIN RSA PRIVATE KEY-----", *wrapped(R * 9, 64), "-----END RSA PRIVATE KEY-----"]


@pytest.mark.parametrize("shipper", SHIPPERS)
@pytest.mark.parametrize("rows", [KEY, KEY[:-1], KEY[1:]], ids=["whole", "no end", "no beginning"])
def test_a_private_key_with_a_prefix_on_every_row_is_replaced(
    rows: list[str], shipper: str
) -> None:
    form = SHIPPERS[shipper]
    text = "\n".join(form(at, one) for at, one in enumerate(["INFO before", *rows, "INFO z z"]))
    once, _ = redact(text)
    assert not shows(once, R), once
    assert "before" in once and once.count("\n") == text.count("\n")


@pytest.mark.parametrize("width", [12, 20, 31, 40, 50])
def test_a_private_key_that_a_terminal_broke_is_replaced(width: int) -> None:
    text = "\n".join(itertools.chain.from_iterable(wrapped(one, width) for one in KEY))
    gone(text, R)


ESCAPED = {
    "in JSON": lambda text: json.dumps({"message": text, "level": "error"}),
    "in JSON in JSON": lambda text: json.dumps({"log": json.dumps({"message": text})}),
    "in a Python string": lambda text: f"headers: {text!r}",
    "by syslog": lambda text: text.replace("\n", "#012"),
}


@pytest.mark.parametrize("escape", ESCAPED)
def test_a_secret_that_an_escaped_line_end_parts_is_replaced(escape: str) -> None:
    for text in (
        f"using hf_{R[:9]}\n{R[9:]}",
        f"Authorization: Bearer\n{R}",
        f"env OPENAI_API_KEY=sk-{R[:13]}\n{R[13:]} set",
        "\n".join(KEY),
        f"password: |\n  {R}\n",
    ):
        gone(ESCAPED[escape](text), R)


COLOURS = ["\x1b[31m", "\x1b[0m\x1b[K", "\x1b]8;;http://x\x07", "^[[1;31m", "#033[0m", "\u200b"]


@pytest.mark.parametrize("colour", COLOURS)
def test_colours_and_invisible_characters_inside_a_secret_hide_nothing(colour: str) -> None:
    text = f"INFO x\nusing hf_{R[:9]}{colour}{R[9:]} to download\nValueError: x\n"
    shown = read(text).text
    assert "<secret-1>" in shown and not shows(shown, R)


FIELDS = {
    f"args:\n- --api-key\n- {R}\n- --port": R,
    f"args: [\n  \"--api-key\",\n  \"{R}\"\n]": R,
    f"command ['vllm', 'serve', 'm', '--api-key', '{R}']": R,
    f"vllm serve m \\\n  --api-key \\\n  {R} \\\n  --port 1": R,
    "password: |\n  correct horse battery\nport: 1": "correct horse",
    f"b'x-api-key', b'{R}'": R,
    f"{{\\\\\"api_key\\\\\": \\\\\"{R}\\\\\"}}": R,
    f"&quot;api_key&quot;: &quot;{R}&quot;": R,
    f"\u201capi_key\u201d: \u201c{R}\u201d": R,
    f"api_key\\u003d{R}\\u0026x": R,
    f"postgres:\\/\\/user:{R[:20]}@db\\/x": R[:20],
    f"client-key-data: {R * 100}": R,
}  # fmt: skip


@pytest.mark.parametrize("text", FIELDS)
def test_a_value_in_a_field_of_its_own_is_replaced(text: str) -> None:
    gone(text, FIELDS[text])


NEEDED = [
    "token hf_abc\nEngineCore_DP0 started with block_size=16",
    f"HF_TOKEN=hf_{R}Ab\nremote_request_id=cmpl-3da205a6-1c3c-41b5-aeaa-b8421e81fd5c-0",
    f"HF_TOKEN=hf_{R}Ab\n46126a31-6b81-435d-a116-e3e34a76ded3_dp0",
    "x-api-key: \nTraceback (most recent call last):",
    "api_key:\nmodel: meta-llama/Llama-3.1-8B-Instruct",
    "password:\n  secretKeyRef:\n    name: db-user-pass",
    "connecting to tcp://10.0.0.7:5600\nroot@decode-0:/vllm# ls",
    "vllm serve m --hf-token\nINFO 12-01 05:00:00 [api_server.py:1] vLLM API server version 0.32.0",
    "args:\n- --hf-token\n- --block-size\n- '128'",
    'parser.add_argument(\n    "--api-key",\n    type=str,\n    default=None,',
    "Authorization: Bearer\n(EngineCore_DP0 pid=77) INFO 12-01 05:00:00 [core.py:58] block_size",
]


@pytest.mark.parametrize("text", NEEDED)
def test_what_stands_below_a_secret_stays(text: str) -> None:
    first, *below = text.split("\n")
    assert redact(text)[0].split("\n")[1:] == below, first


def test_no_log_or_example_of_a_record_loses_anything() -> None:
    yaml = pytest.importorskip("yaml")
    root = Path(__file__).parents[1]
    for file in (root / "knowledge" / "records").rglob("*.yaml"):
        record = yaml.load(file.read_text("utf-8"), yaml.CSafeLoader)
        for example in record.get("examples", ()):
            log = example.get("log", "")
            for width in (0, 80, 120):
                rows = log.split("\n")
                if width:
                    rows = [part for row in rows for part in wrapped(row, width) or [""]]
                text = "\n".join(rows)
                assert redact(text) == (text, 0), (file.name, example.get("name"))
    for file in (root / "tests" / "cases").glob("*/*.log"):
        rows = file.read_text("utf-8", "replace").split("\n")
        text = "\n".join(part for row in rows for part in wrapped(row, 100) or [""])
        assert redact(text) == (text, 0), file


@pytest.mark.parametrize("row", SECRETS)
def test_a_secret_where_a_long_text_is_cut_into_pieces_is_replaced(row: str) -> None:
    secret = SECRETS[row]
    front = ("INFO " + "x" * 94 + "\n") * (SIZE // 100 + 1)
    rows = wrapped("y" * 60 + " " + row, 80)
    parts = [front + rows[0] + "\n", "\n".join([*rows[1:], "INFO behind", front])]
    lines = "".join(parts).count("\n")
    assert redact_parts(parts) > 0
    assert not shows("".join(parts), secret)
    assert "".join(parts).count("\n") == lines
