"""The scan on a local Ray of two workers gives what the local scan gives."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.pipeline import shipped

from kvdoctor.cli import main
from kvdoctor.scan import scan
from kvdoctor.scan.result import Partial

CASES = Path(__file__).with_name("cases")
NAMES = ("061-nixl-blocksize-d-smaller", "003-unknown-connector", "050-nixl-healthy")
STORED = CASES / "113-mooncakestore-partial-tail"
HERE = importlib.util.find_spec("ray") is not None
SCRIPT = """
import json, sys
from kvdoctor.load import load
from kvdoctor.scan import scan
found = scan(sys.argv[1:], load(private=False), engine="ray", address="local", jobs=2)
print(json.dumps(found.to_json()))
"""


def test_what_a_worker_sends_comes_back_as_it_was() -> None:
    found = scan([str(CASES / name) for name in NAMES], shipped())
    assert any(one.rows for one in found.files)
    for one in found.files:
        assert Partial.unpacked(one.packed()) == one


@pytest.mark.skipif(not HERE, reason="ray is not installed")
def test_the_result_of_a_cluster_is_that_of_one_process() -> None:
    import json

    folders = [str(CASES / name) for name in NAMES]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *folders, f"file://{STORED}"],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    got = json.loads(done.stdout.strip().splitlines()[-1])
    local = scan([*folders, str(STORED)], shipped()).to_json()
    plain = json.loads(json.dumps(got).replace("file:///", "/"))
    assert plain == local


@pytest.mark.skipif(HERE, reason="ray is installed")
def test_without_ray_the_extra_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "--engine", "ray", str(CASES / NAMES[0])]) == 2
    assert "kvdoctor[ray]" in capsys.readouterr().err
