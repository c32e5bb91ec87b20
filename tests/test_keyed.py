"""One line of a large sorted file is found without reading the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvdoctor.text.keyed import KeyedFile


@pytest.fixture(params=["\n", "\r\n"])
def file(tmp_path: Path, request: pytest.FixtureRequest) -> KeyedFile:
    keys = sorted(f"vllm/{number:o}.py" for number in range(1, 200, 2))
    lines = [f"{key}\t{key * (len(key) * index % 97)}" for index, key in enumerate(keys)]
    path = tmp_path / "keyed.txt"
    path.write_bytes((request.param.join(lines) + request.param).encode())
    return KeyedFile(path)


def test_every_key_gives_its_own_text(file: KeyedFile) -> None:
    for index, key in enumerate(sorted(f"vllm/{number:o}.py" for number in range(1, 200, 2))):
        assert file.get(key) == key * (len(key) * index % 97)


def test_other_keys_give_nothing(file: KeyedFile) -> None:
    for number in range(0, 200, 2):
        assert file.get(f"vllm/{number:o}.py") == ""
    for key in ("", "a", "zzz", "vllm/1", "vllm/1.py\t"):
        assert file.get(key) == ""


def test_keys_are_found_by_what_their_text_holds(file: KeyedFile) -> None:
    assert list(file.keys_with("vllm/177.pyvllm/177.py")) == ["vllm/177.py"]


def test_a_file_without_last_line_end_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "keyed.txt"
    path.write_text("a\tone\nb\ttwo", encoding="utf-8")
    assert (KeyedFile(path).get("a"), KeyedFile(path).get("b")) == ("one", "two")


def test_a_missing_file_holds_nothing(tmp_path: Path) -> None:
    assert KeyedFile(tmp_path / "none").get("a") == ""
    assert list(KeyedFile(tmp_path / "none").keys_with("a")) == []
