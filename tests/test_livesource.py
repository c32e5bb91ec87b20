"""The live source of a guard: found without importing, shown with the line marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvdoctor.catalogue.livesource import Installed, excerpt, installed


@pytest.fixture
def build(tmp_path: Path) -> Installed:
    package = tmp_path / "site-packages" / "vllm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('must never be imported')\n")
    body = "".join(f"line_{number} = {number}\n" for number in range(1, 21))
    (package / "guard.py").write_text(body + "    assert remote_block_ids\n" + body)
    about = package.parent / "vllm-0.32.0+vendor.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: vllm\nVersion: 0.32.0+vendor\n")
    found = installed([tmp_path / "nowhere", package.parent])
    assert found is not None
    return found


def test_the_package_is_found_with_its_release_and_not_imported(build: Installed) -> None:
    assert build.release == "0.32.0+vendor"


def test_the_line_is_marked(build: Installed) -> None:
    lines = excerpt(build, "vllm/guard.py", 21, around=2)
    assert [one.number for one in lines] == [19, 20, 21, 22, 23]
    assert [one.text for one in lines if one.marked] == ["    assert remote_block_ids"]


def test_a_line_that_moved_is_found_by_its_text(build: Installed) -> None:
    lines = excerpt(build, "vllm/guard.py", 3, "assert  remote_block_ids", around=0)
    assert [(one.number, one.marked) for one in lines] == [(21, True)]
    assert excerpt(build, "vllm/guard.py", 3, "assert something_else") == ()


def test_nothing_outside_the_package_is_read(build: Installed) -> None:
    secret = build.folder / "secret.py"
    secret.write_text("key = 1\n")
    assert excerpt(build, "vllm/../secret.py", 1) == ()
    assert excerpt(build, str(secret), 1) == ()
    assert excerpt(build, "vllm/missing.py", 1) == ()
    assert excerpt(build, "vllm/guard.py", 999) == ()


def test_no_installation_is_no_error(tmp_path: Path) -> None:
    assert installed([tmp_path]) is None
