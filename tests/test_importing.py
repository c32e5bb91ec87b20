"""Published records become drafts: facts taken over, nothing believed, nothing offered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvdoctor.cli import main
from kvdoctor.importing import LARGEST, draft, import_files, read_published, template_of
from kvdoctor.load import load

RECORD: dict[str, Any] = {
    "id": "00aa11bb22cc33dd",
    "slug": "gadget-count-must-fit",
    "errorMessage": "Gadget count {self.count} of {name} must fit {other.count!r} slots",
    "errorClass": "ValueError",
    "filePath": "vllm/gadget/store.py",
    "lineNumber": 12,
    "sourceCode": "def check(self):\n    if bad:\n        raise ValueError('x')\n",
    "githubUrl": "https://example.org/gadget#L1",
    "documentation": "It is {raised} when counts differ.",
    "triggerScenarios": "counts differ",
    "commonSituations": None,
    "solutions": ["Set the count to 7", "Ignore it"],
    "exampleFix": None,
    "preventionTips": ["Never differ"],
    "tags": ["gadget"],
    "schemaVersion": 2,
}
PAGE = """\
vllm-project/vllm · error · RuntimeError

Error message

Gizmo {gizmo_id} has no lid

What it means

A lid was expected.

Source

Thrown at vllm/gizmo/lids.py:77

When it happens

• lids are off

Solutions

1. Put the lid on
2. Look again

Related errors

• Gizmo is too warm

/api/errors/99ff88ee77dd66cc
"""


def as_json(**changes: Any) -> bytes:
    record = {name: value for name, value in {**RECORD, **changes}.items() if value is not ...}
    return json.dumps({"record": record, "datasetVersion": "1"}).encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "drafts"


def written(folder: Path, tmp_path: Path, data: bytes, name: str = "a.json") -> str:
    """The problem of importing ``data``, "" when it became a draft in ``folder``."""
    file = tmp_path / name
    file.write_bytes(data)
    (done,) = import_files([str(file)], folder)
    return done.problem


@pytest.mark.parametrize("data", [as_json(), PAGE.encode()], ids=["json", "page"])
def test_a_draft_loads_identifies_its_error_and_is_found_by_its_published_id(
    data: bytes, folder: Path, tmp_path: Path
) -> None:
    assert written(folder, tmp_path, data) == ""
    known = load([folder], use_cache=False)
    assert known.problems == ()
    published = read_published(data, "x")
    record_id = known.resolve(published.id)
    assert record_id is not None
    record = known.records[record_id]
    assert record.status == "draft"
    assert record.summary.startswith("Imported and unverified")
    message = "Gadget count 3 of lid must fit 4 slots" if record.tags else "Gizmo g7 has no lid"
    assert [found.id for found, _, _ in known.claims(message)] == [record_id]


@pytest.mark.parametrize("data", [as_json(), PAGE.encode()], ids=["json", "page"])
def test_a_draft_offers_no_fix_and_believes_no_advice(data: bytes) -> None:
    import yaml

    made = yaml.safe_load(draft(read_published(data, "x")).text)
    assert made["fixes"] == {}
    assert all(check["fixes"] == [] for check in made["checks"])
    verdicts = [one["verdict"] for entry in made["published"] for one in entry["advice"]]
    assert verdicts
    assert set(verdicts) == {"unverified"}


def test_the_linter_finds_no_error_of_form_in_a_draft(folder: Path, tmp_path: Path) -> None:
    from kvdoctor.lint import lint

    assert written(folder, tmp_path, as_json()) == ""
    assert written(folder, tmp_path, PAGE.encode(), "b.txt") == ""
    found = lint([folder], load(private=False), examples=False)
    assert [one for one in found if one.rule == "form"] == []


def test_unverified_advice_is_never_shown_as_wrong_or_as_a_fix(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, tmp_path, as_json())
    log = tmp_path / "x.log"
    log.write_text("ValueError: Gadget count 3 of lid must fit 4 slots\n")
    main(["diagnose", str(log), "--knowledge", str(folder)])
    text = capsys.readouterr().out
    assert "never verified" in text
    assert "DOES NOT HOLD" not in text
    assert "FIX" not in text


def test_hole_names_are_readable_and_stay_apart() -> None:
    assert template_of("{self.count} of {name}") == "{count} of {name}"
    assert template_of("{a.size} != {b.size}") == "{size} != {b_size}"
    assert template_of("{x:.2f} {x:.2f} {}") == "{x} {x} {value}"


def test_a_missing_example_fix_is_no_error() -> None:
    assert read_published(as_json(exampleFix=None), "x").advice[-1] == "Never differ"
    assert read_published(as_json(exampleFix=...), "x").advice[-1] == "Never differ"
    assert "example fix" in read_published(as_json(exampleFix="a\nb"), "x").advice[2]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"record": {', ("broken JSON", "a.json")),
        (b'{"record": []}', ("record", "missing")),
        (b"[1]", ("record",)),
        (b"[" * 100_000, ("nested",)),
        (as_json(schemaVersion=3), ("record.schemaVersion", "3")),
        (as_json(schemaVersion=...), ("record.schemaVersion",)),
        (as_json(id=...), ("record.id",)),
        (as_json(slug=7), ("record.slug",)),
        (as_json(errorMessage="  "), ("record.errorMessage",)),
        (as_json(solutions="Set it"), ("record.solutions",)),
        (as_json(tags=[1]), ("record.tags",)),
        (as_json(documentation={}), ("record.documentation",)),
        (b"just some text", ("Error message",)),
        (PAGE.replace("/api/errors/", "/x/").encode(), ("/api/errors/ID",)),
        (b"", ("Error message",)),
        (b" " * (LARGEST + 1), ("larger",)),
    ],
)
def test_what_cannot_be_imported_names_file_and_field(
    data: bytes, words: tuple[str, ...], folder: Path, tmp_path: Path
) -> None:
    problem = written(folder, tmp_path, data)
    assert problem
    assert all(word in problem for word in (*words, "a.json"))
    assert not list(folder.glob("*"))


@pytest.mark.parametrize(
    "changes",
    [
        {"slug": "../../escape"},
        {"slug": "A Slug With Words"},
        {"slug": "x" * 500},
        {"id": "../../../etc/passwd"},
        {"errorClass": "ValueError: x\nid: y"},
        {"filePath": "a:b c"},
        {"errorMessage": "{a} {b} {} {0} {a!r} {{literal}} }{"},
        {"errorMessage": "\x1b]52;c;eA==\x07 bell {x}"},
        {"documentation": "*" * 10_000 + "\x00\x85"},
        {"tags": ["*", "&a", "x: y", "T A G"]},
        {"solutions": ["{open", "&a [*a]", "$(reboot)"]},
    ],
    ids=lambda one: next(iter(one)),
)
def test_hostile_fields_make_a_harmless_draft_or_a_clear_refusal(
    changes: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    problem = written(folder, tmp_path, as_json(**changes))
    made = [*tmp_path.rglob("*.yaml"), *tmp_path.parent.glob("*.yaml")]
    assert all(path.parent == folder for path in made), "nothing outside the folder is written"
    if not problem:
        assert load([folder], use_cache=False).problems == ()


def test_one_bad_file_does_not_stop_the_others(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_bytes(as_json())
    bad.write_bytes(b"{")
    code = main(["import", str(bad), str(good), str(tmp_path / "none"), "--out", str(folder)])
    told = capsys.readouterr()
    assert code == 2
    assert "bad.json" in told.err
    assert "none" in told.err
    assert "gadget-count-must-fit" in told.out


def test_an_existing_draft_that_was_edited_is_kept(folder: Path, tmp_path: Path) -> None:
    assert written(folder, tmp_path, as_json()) == ""
    assert written(folder, tmp_path, as_json()) == "", "the same again is no conflict"
    target = folder / "gadget-count-must-fit.yaml"
    target.write_text(target.read_text() + "# mine\n")
    assert "exists and differs" in written(folder, tmp_path, as_json())
    assert target.read_text().endswith("# mine\n")


def test_a_draft_never_speaks_before_a_record_that_was_worked_out(
    folder: Path, tmp_path: Path
) -> None:
    shipped = load(private=False)
    proven = next(
        one
        for one in shipped.records.values()
        if one.published and one.published[0].id and one.identify[0].message and one.fixes
    )
    changes = {
        "id": proven.published[0].id,
        "slug": "aaa-of-the-same-message",
        "errorMessage": proven.identify[0].message,
        "errorClass": proven.identify[0].exception,
    }
    assert written(folder, tmp_path, as_json(**changes)) == ""
    known = load([folder], use_cache=False)
    assert "aaa-of-the-same-message" in known.records
    assert known.resolve(proven.published[0].id) == proven.id
