"""Decoding, secrets, the release: and no input breaks the intake or slows it down."""

from __future__ import annotations

import bz2
import gzip
import lzma
import time
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import cpu_seconds

from kvdoctor.intake import read
from kvdoctor.intake.decode import LEAST_ROOM, MAX_RATIO, decode
from kvdoctor.intake.redact import redact
from kvdoctor.intake.release import Fingerprints

TRACE = (
    "(EngineCore pid=7) ERROR 08-19 18:34:27 [core.py:9] Traceback (most recent call last):\n"
    '(EngineCore pid=7) ERROR 08-19 18:34:27 [core.py:9]   File "/x/vllm/v1/a.py", line 3, in f\n'
    "(EngineCore pid=7) ERROR 08-19 18:34:27 [core.py:9]     raise ValueError(\n"
    "(EngineCore pid=7) ERROR 08-19 18:34:27 [core.py:9] ValueError: rows of “layer” 7 are gone\n"
)


# ------------------------------------------------------------------ decoding


@pytest.mark.parametrize(
    "data",
    [
        TRACE.encode(),
        b"\xef\xbb\xbf" + TRACE.encode(),
        TRACE.encode("utf-16"),
        TRACE.encode("utf-16-le"),
        TRACE.encode("utf-16-be"),
        TRACE.encode("utf-32"),
        TRACE.encode("cp1252"),
        gzip.compress(TRACE.encode()),
        gzip.compress(TRACE[:99].encode()) + gzip.compress(TRACE[99:].encode()),
        bz2.compress(TRACE.encode()),
        lzma.compress(TRACE.encode()),
        gzip.compress(bz2.compress(TRACE.encode("utf-16"))),
    ],
    ids=str,
)
def test_every_encoding_and_compression_is_read(data: bytes) -> None:
    failures = read(data).failures
    assert [one.message for one in failures] == ['rows of "layer" 7 are gone']


def test_the_size_is_that_of_the_input_as_given() -> None:
    data = gzip.compress(TRACE.encode())
    assert read(data).size == len(data)
    assert read("“").size == 3


@pytest.mark.parametrize(
    "pack",
    [gzip.compress, lambda data: bz2.compress(data, 1), lzma.compress],
    ids=["gz", "bz2", "xz"],
)
def test_a_damaged_archive_is_read_as_far_as_possible(pack: object) -> None:
    assert callable(pack)
    noise = "".join(
        f"INFO 01-02 03:04:05 [a.py:{n}] {n * n * 7919 % 1000003}\n" for n in range(9000)
    )
    packed = pack((TRACE + noise).encode())
    paste = read(packed[: len(packed) * 2 // 3])
    assert paste.failures[0].exception == "ValueError"
    assert any("ends early" in note or "damaged" in note for note in paste.notes)


def test_zstd_without_a_module_is_said_not_guessed() -> None:
    paste = read(b"\x28\xb5\x2f\xfd" + bytes(100))
    assert any("zstd" in note for note in paste.notes)


def test_a_bomb_is_cut_off() -> None:
    machine = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = (b"A" * 63 + b"\n") * (1 << 14)
    packed = b"".join(machine.compress(block) for _ in range(80)) + machine.flush()
    decoded = decode(packed)
    assert len(decoded.text) == max(LEAST_ROOM, MAX_RATIO * len(packed)) < 80 * len(block)
    assert any("cut off" in note for note in decoded.notes)


def test_a_huge_log_keeps_its_beginning_its_end_and_its_line_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kvdoctor.intake.decode.MAX_BYTES", 4000)
    monkeypatch.setattr("kvdoctor.intake.decode.KEPT_HEAD", 1000)
    rows = [f"INFO 01-02 03:04:05 [a.py:{n}] row {n}" for n in range(1, 1001)]
    text = "\n".join([*rows, "ValueError: the end"])
    for data in (text, text.encode()):
        paste = read(data)
        assert paste.records[0].message == "row 1"
        assert (paste.failures[0].message, paste.failures[0].number) == ("the end", 1001)
        assert any("not read" in note for note in paste.notes)


def test_many_small_archives_in_one_file_are_read_in_time() -> None:
    packed = gzip.compress(b"x\n") * 8000 + gzip.compress(b"ValueError: the end")
    start = time.process_time()
    paste = read(packed)
    assert time.process_time() - start < 10
    assert (len(paste.lines), paste.failures[0].message) == (8001, "the end")


def test_an_endless_line_is_cut_off() -> None:
    paste = read("ERROR 01-02 03:04:05 [a.py:1] " + "x" * 5_000_000 + "\nValueError: below")
    assert len(paste.lines[0].shown) < 1000
    assert paste.failures[0].number == 2
    assert any("left out" in note for note in paste.notes)


def test_what_is_shown_holds_no_control_character() -> None:
    text = "a\x07b\x1b]0;title\x07c\x1b[2Kd\u202ee\u200bf\x9b31mg\x00h\ud800"
    assert read(text).lines[0].shown == "abcdefgh\ufffd"


# ------------------------------------------------------------------ secrets

TOKEN = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz012345"
SECRETS = {
    f"token={TOKEN}": TOKEN,
    "Authorization: Bearer abc.def-123456789": "abc.def-123456789",
    "--api-key sesame-open-1": "sesame-open-1",
    "--api-key=sesame-open-1": "sesame-open-1",
    "'api_key': ['sesame-open-1'], 'port': 8000": "sesame-open-1",
    "VLLM_API_KEY=sesame-open-1": "sesame-open-1",
    '{"password": "p4ss,word"}': "p4ss",
    "connect to redis://user:hunter2@10.0.0.1:6379/0": "hunter2",
    "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzz": "wJalrXUtnFEMI",
    "id AKIAABCDEFGHIJKLMNOP used": "AKIAABCDEFGHIJKLMNOP",
    "key sk-proj-abcdefghijklmnopqrstuv": "sk-proj-abcdefghijklmnopqrstuv",
    "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123": "eyJhbGciOiJIUzI1NiJ9",
    "nvapi-abcdefghijklmnopqrst": "nvapi-abcdefghijklmnopqrst",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "ghp_abcdefghijklmnop",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc=\n-----END RSA PRIVATE KEY-----": "MIIEow",
    "https://b.s3.amazonaws.com/x?X-Amz-Signature=0123456789abcdef": "0123456789abcdef",
}


@pytest.mark.parametrize(("text", "secret"), SECRETS.items(), ids=str)
def test_a_secret_is_replaced(text: str, secret: str) -> None:
    paste = read(text)
    assert secret not in repr(paste)
    assert "<secret-1>" in paste.text
    assert paste.redacted == 1
    assert paste.lines[-1].number == 1 + text.count("\n")


def test_the_same_secret_is_the_same_token() -> None:
    other = TOKEN[::-1].replace("fh", "hf")
    text, count = redact(f"a {TOKEN} b hf_{other} c {TOKEN}")
    assert count == 3
    assert text.startswith("a <secret-1> b <secret-2>")
    assert text.endswith("c <secret-1>")


@pytest.mark.parametrize(
    "text",
    [
        "engine_id 83e2be1c-0275-428f-9f31-f4e5242a7a5a on tcp://10.0.0.1:5557",
        "hash 6068d67ac62e4874eb6a8612762ce171c6c75badd3384988e4c8df83e215a8b2",
        "cmpl-b2701df660b3fc85-0-bd88026e, disk-backed, task-force",
        "num_key_value_heads=8, max_tokens=16, min_tokens: 100, eos_token_id=12345",
        "api_key=None, hf_token=None, token: null, api_key='EMPTY'",
        "the API key is wrong; pass a password file",
        "'tokenizer': '/models/tiny', 'key': 'layer.0', 'sort_keys': True",
        "http://127.0.0.1:8998/v1, user@host:/path/to/file, KeyError: 'remote_host'",
        "Route: /v1/rerank, Methods: POST; secret sauce: none",
        "basic block size 16, Bearer of news",
    ],
)
def test_what_a_diagnosis_needs_is_no_secret(text: str) -> None:
    assert redact(text) == (text, 0)


# ------------------------------------------------------------------ release


class _Places:
    releases = ("0.30.0", "0.31.0", "0.32.0")

    def frame(self, module: str, line: int, code: str = "") -> tuple[str, ...] | None:
        known = {("vllm/v1/a.py", 3): ("0.31.0", "0.32.0"), ("vllm/v1/a.py", 4): ("0.30.0",)}
        return known.get((module, line), ()) if module == "vllm/v1/a.py" else None

    def log(self, file: str, line: int, message: str = "") -> tuple[str, ...] | None:
        return {9: ("0.30.0", "0.32.0")}.get(line)

    def path(self, module: str) -> tuple[str, ...] | None:
        return ("0.31.0",) if module == "vllm/only_in_0_31.py" else self.releases


FINGERPRINTS = Fingerprints(("Initializing an engine (v{version}) with config:",), _Places())


def _release(text: str) -> tuple[str, tuple[str, ...], str, str, bool]:
    found = read(text, fingerprints=FINGERPRINTS).release
    return found.release, found.candidates, found.how, found.suffix, found.patched


def test_a_banner_names_the_release_and_its_suffix() -> None:
    text = "x\nINFO 01-02 03:04:05 [c.py:1] Initializing an engine (v0.32.0) with config: a=1"
    assert _release(text) == ("0.32.0", ("0.32.0",), "banner", "", False)
    assert read(text, fingerprints=FINGERPRINTS).release.number == 2
    dev = text.replace("0.32.0", "0.32.0rc1.dev50+g12ab")
    assert _release(dev)[::3] == ("0.32.0", "rc1.dev50+g12ab")
    vendor = text.replace("0.32.0", "0.9.2+vendor")
    assert _release(vendor)[::3] == ("0.9.2", "+vendor")


def test_frames_and_heads_together_name_the_release() -> None:
    assert _release(TRACE) == ("0.32.0", ("0.32.0",), "frames", "", False)
    raw = TRACE.replace("(EngineCore pid=7) ERROR 08-19 18:34:27 [core.py:9] ", "")
    assert _release(raw) == ("", ("0.31.0", "0.32.0"), "frames", "", False)
    head = "ERROR 08-19 18:34:27 [core.py:9] text"
    assert _release(head) == ("", ("0.30.0", "0.32.0"), "log-lines", "", False)


def test_a_path_alone_can_tell_the_release() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/x/vllm/only_in_0_31.py", line 3, in f\nE: x'
    )
    assert _release(text)[:3] == ("0.31.0", ("0.31.0",), "paths")


def test_frames_that_contradict_the_banner_mean_a_patched_build() -> None:
    text = (
        "INFO 01-02 03:04:05 [c.py:1] Initializing an engine (v0.30.0) with config: a=1\n" + TRACE
    )
    assert _release(text) == ("0.30.0", ("0.30.0",), "banner", "", True)
    assert _release(TRACE.replace("line 3,", "line 77,"))[4]


def test_nothing_known_is_said_to_be_unknown() -> None:
    assert _release("hello")[:3] == ("", (), "unknown")
    assert read(TRACE).release.how == "unknown"


# ------------------------------------------------------------------ any input


PIECES = st.sampled_from(
    [
        "Traceback (most recent call last):", '  File "/a/vllm/b.py", line 3, in f', "    code()",
        "ValueError: x", "ValueError('x')", "AssertionError", "(Worker pid=3) ", "(A pid=", "\r",
        "\n", "\n\n", "ERROR 01-02 03:04:05 [a.py:1] ", "INFO:     ", "  | ", "{", "}", "[", "\\n",
        "  + Exception Group Traceback (most", "  +-+---------------- 1 ----------------",
        '{"log":"', '"}', '"', "1 validation error for X", "  Value error, y", "> ", "`", "│", "%|",
        " [type=value_error, input_value=3]", "2026-01-01T00:00:00.000000000Z ", "stderr P ",
        "stderr F ", "\x1b[31m", "[0m", "^M", "raised:", "#012", "1 ", "2 ", "timestamp,message",
        "The above exception was the direct cause of the following exception:", "a" * 80,
        "ray.exceptions.RayTaskError(V): ray::f()", "vllm serve: error: argument --x: y",
        "----> 3 f()", "File /a/b.py:3, in f(x)", "E1130 01:02:03.4 5 a.cpp:6] ", "https://a:b@c",
        '1756144012376,"', "&quot;", "“", "\u00a0", "api_key=abcdefgh",
    ]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=600))
def test_no_bytes_raise(data: bytes) -> None:
    paste = read(data)
    assert paste.size == len(data)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=400), st.sampled_from(["", "\x1f\x8b\x08", "BZh9", "{"]))
def test_no_text_raises(text: str, start: str) -> None:
    read(start + text)
    read((start + text).encode("utf-8", "surrogatepass"))


@settings(max_examples=800, deadline=None)
@given(st.lists(PIECES, max_size=40))
def test_no_arrangement_of_log_pieces_raises_and_indices_fit(pieces: list[str]) -> None:
    paste = read("".join(pieces), fingerprints=FINGERPRINTS)
    count = paste.text.count("\n") + 1
    for failure in paste.failures:
        assert failure.cause is None or 0 <= failure.cause < len(paste.failures)
        assert failure.first <= failure.number or any("newest" in note for note in paste.notes)
    for record in paste.records:
        assert record.failure is None or 0 <= record.failure < len(paste.failures)
    assert all(line.number >= 1 and "\n" not in line.shown for line in paste.lines)
    assert count >= len(paste.lines) or not paste.lines


# ------------------------------------------------------------------ time

MONSTERS = {
    "one line": lambda n: "x" * (n * 40),
    "words": lambda n: "word " * (n * 8),
    "tracebacks": lambda n: "Traceback (most recent call last):\n" * n,
    "tracebacks on a line": lambda n: "Traceback (most recent call last): " * n,
    "frames": lambda n: '  File "/a/b.py", line 3, in f\n' * n,
    "frames on a line": lambda n: '  File "/a/b.py", line 3, in f' * n,
    "prefixes on a line": lambda n: "(Worker pid=3) " * n,
    "glued levels": lambda n: "x ERROR 01-02 03:04:05 [a.py:1] " * n,
    "levels": lambda n: "ERROR " * n,
    "brackets": lambda n: "[" * (n * 10),
    "braces": lambda n: "{\n" * n,
    "nested json": lambda n: '{"a":' * n + "1" + "}" * n,
    "json array": lambda n: "[" * n + "\n" + "]" * n,
    "braces and ends": lambda n: "{\n" * n + "}\n" * n,
    "partial": lambda n: "2026-01-01T00:00:00.0Z stderr P abc\n" * n,
    "docker parts": lambda n: '{"log":"abc"}\n' * n,
    "escapes": lambda n: "\x1b[" * n,
    "escape titles": lambda n: "\x1b]0;" * n,
    "bare colours": lambda n: "[0" * n + "m",
    "quotes": lambda n: ">" * n + "\n" + "> " * n,
    "quoted lines": lambda n: ">\n" * n,
    "validation": lambda n: "1 validation error for X\n" * n,
    "value errors": lambda n: "  Value error, x\n" * n,
    "open validation": lambda n: "9 validation errors for X\n" + "  Value error, x\n" * n,
    "reprs": lambda n: "ERROR 01-02 03:04:05 [a.py:1] ValueError('" * n,
    "open repr": lambda n: "ERROR 01-02 03:04:05 [a.py:1] ValueError('" + "\\" * (n * 10),
    "dotted": lambda n: "a." * (n * 4) + "Error: x",
    "dotted lines": lambda n: ("a." * 40 + "Error\n") * (n // 10),
    "secrets": lambda n: "api_key " * n,
    "secret dashes": lambda n: "--api-key" * n,
    "urls": lambda n: "http://a:" * n + "@",
    "url ats": lambda n: "a://b" + ":" * n + "@" * n,
    "jwt": lambda n: "eyJaaaaaaaaaaaa." * n,
    "pem": lambda n: "-----BEGIN PRIVATE KEY-----\n" * (n // 10),
    "escaped": lambda n: "Traceback (most recent" + "\\n" * n,
    "groups": lambda n: "  + Exception Group Traceback (most recent call last):\n" + "  | x\n" * n,
    "rules": lambda n: (
        "  + Exception Group Traceback (most\n" + "  +-+---------------- 1 ---\n" * n
    ),
    "blank lines": lambda n: "Traceback (most recent call last):\n" + "\n" * n,
    "spaces": lambda n: " " * (n * 10) + "x",
    "space lines": lambda n: (" " * 300 + "x\n") * (n // 10),
    "carriage": lambda n: "a\r" * n + "\n",
    "messages": lambda n: "ValueError: x\n" + "more of it\n" * n,
    "raised": lambda n: "ValueError: raised:\n" * n,
    "chains": lambda n: "During handling of the above exception, another exception occurred:\n" * n,
    "csv": lambda n: "time,message\n" + '1,"' * n,
    "csv rows": lambda n: "time,message\n" + '1,"a\nb"\n' * n,
    "bars": lambda n: "a | " * n,
    "bar lines": lambda n: "a  | b\n" * n,
    "numbers": lambda n: "\n".join(map(str, range(n))),
    "ipython": lambda n: "ValueError   Traceback (most recent call last)\n" * n,
    "ipython frames": lambda n: (
        "E   Traceback (most recent call last)\n" + "File /a.py:1, in f\n" * n
    ),
    "unknown prefixes": lambda n: "\n".join(f'p{i} x   File "/a", line 3, in f' for i in range(n)),
    "pods": lambda n: "\n".join(f"pod-{i} vllm (Worker pid=3) ERROR x" for i in range(n // 10)),
    "wide": lambda n: ("x" * 80 + "\n") * n,
    "entities": lambda n: "&quot;" * n,
    "processes": lambda n: "\n".join(
        f"(W pid={i}) ERROR 01-02 03:04:05 [a.py:1] x" for i in range(n)
    ),
    "asserts": lambda n: "(W pid=3) ERROR ... assert x\n" * n,
    "argparse": lambda n: "a: error: b\n" * n,
    "headed chain": lambda n: "ERROR 01-02 03:04:05 [a.py:1] ValueError: x\n" * n,
}


@pytest.mark.parametrize("make", MONSTERS.values(), ids=MONSTERS.keys())
def test_time_grows_with_the_size_of_the_input(make: object) -> None:
    assert callable(make)
    for _ in range(3):  # a busy machine must not fail the test
        small, large = (_seconds(make(size)) for size in (1000, 8000))
        # eight times the input: quadratic work would take sixty-four times as long
        if large < 0.1 + 20 * small:
            return
    raise AssertionError((small, large))


def _seconds(text: str) -> float:
    return cpu_seconds(lambda: read(text))


def test_a_megabyte_on_one_line_is_read_in_time() -> None:
    for text in ("x" * 1_000_000, "ERROR (a pid=" * 80_000, "a.b-c_" * 170_000, "key=" * 250_000):
        assert _seconds(text) < 5


def test_a_message_that_goes_on_indented_below_its_first_line_is_not_turned_round() -> None:
    text = (
        "WARNING [config.py:1] first\nWARNING [utils.py:2] second\n"
        "ValueError: a message that is long,\n  (and goes on below\n"
    )
    paste = read(text)
    assert paste.notes == ()
    assert [one.message for one in paste.failures] == [
        "a message that is long,\n  (and goes on below"
    ]


def test_redrawn_lines_inside_a_json_record_are_lines_of_their_own() -> None:
    paste = read('{"textPayload": "web | 10%\\r20%\\rERROR done\\r\\n"}\n' * 2)
    assert not any("\r" in line.shown or "\r" in line.text for line in paste.lines)
