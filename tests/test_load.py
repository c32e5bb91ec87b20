"""Finding, compiling and joining the knowledge."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvdoctor import compiled
from kvdoctor import load as loading
from kvdoctor.compiled import compiled_for_wheel
from kvdoctor.knowledge import Knowledge
from kvdoctor.load import load
from kvdoctor.new import fresh_record

MESSAGE = "The cache block size 16 does not divide 40 tokens of this record."


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small shipped knowledge, and folders of the user that are empty."""
    folder = tmp_path / "knowledge"
    write(folder, "first-record", area="blocks")
    (folder / "wrappers.yaml").write_text(
        '- {id: failed, message: "Worker failed with error {error}", quotes: error}\n'
    )
    for variable in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    monkeypatch.delenv("KVDOCTOR_KNOWLEDGE", raising=False)
    monkeypatch.setattr(loading, "shipped_folder", lambda: str(folder))
    yield folder
    for path in (tmp_path, *tmp_path.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)


def write(folder: Path, record_id: str, *, area: str = "", title: str = "") -> Path:
    target = (
        folder / "records" / area / f"{record_id}.yaml" if area else folder / f"{record_id}.yaml"
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    text = fresh_record(record_id)
    if title:
        text = text.replace(text.split("\n")[1], f"title: {title}")
    target.write_text(text.replace("this record", record_id))
    return target


def cache_files(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "XDG_CACHE_HOME").rglob("*.kvd"))


def test_the_real_knowledge_loads_without_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KVDOCTOR_KNOWLEDGE", raising=False)
    knowledge = load(private=False)
    assert knowledge.records
    assert [str(one) for one in knowledge.problems] == []


def test_records_are_found_by_their_message(shipped: Path) -> None:
    knowledge = load()
    message = MESSAGE.replace("this record", "first-record")
    [(record, entry, hit)] = knowledge.claims(message)
    assert record.id == "first-record"
    assert record.area == "blocks"
    assert record.file == str(shipped / "records/blocks/first-record.yaml")
    assert entry.exception == "ValueError"
    assert hit.holes == {"block_size": "16", "tokens": "40"}
    assert list(knowledge.claims(f"note: {message}")) == []
    assert len(list(knowledge.claims(f"note: {message}", anywhere=True))) == 1


def test_a_message_whose_number_is_none_is_recognised_without_that_value(shipped: Path) -> None:
    message = "The cache block size None does not divide 40 tokens of first-record."
    [(_, _, hit)] = load().claims(message)
    assert hit.holes == {"tokens": "40"}


def test_a_second_load_reads_no_yaml(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load()

    def refuse(*_: object, **__: object) -> bytes:
        raise AssertionError("compiled again")

    monkeypatch.setattr(compiled, "compile_folder", refuse)
    again = load()
    assert dict(again.records) == dict(first.records)
    assert again.entries == first.entries
    assert again.wrappers == first.wrappers


def test_a_changed_file_is_read_again(shipped: Path) -> None:
    load()
    write(shipped, "first-record", area="blocks", title="Another title, longer than before")
    assert load().records["first-record"].title == "Another title, longer than before"


def test_an_added_and_a_removed_file_are_noticed(shipped: Path) -> None:
    load()
    added = write(shipped, "second-record", area="blocks")
    assert set(load().records) == {"first-record", "second-record"}
    added.unlink()
    assert set(load().records) == {"first-record"}


@pytest.mark.parametrize("damage", [b"", b"{", b"\x00" * 99, b'{"format": 99}\n'])
def test_a_damaged_copy_in_the_cache_is_made_anew(
    shipped: Path, tmp_path: Path, damage: bytes
) -> None:
    load()
    [file] = cache_files(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(damage)
    assert set(load().records) == {"first-record"}
    assert file.read_bytes() == whole


def test_a_copy_that_is_cut_off_is_made_anew(shipped: Path, tmp_path: Path) -> None:
    load()
    [file] = cache_files(tmp_path)
    file.write_bytes(file.read_bytes()[:-10])
    assert load().records["first-record"].id == "first-record"


def test_a_cache_that_cannot_be_written_does_no_harm(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert set(load().records) == {"first-record"}


def test_no_cache_is_written_when_none_is_wanted(shipped: Path, tmp_path: Path) -> None:
    assert set(load(use_cache=False).records) == {"first-record"}
    assert cache_files(tmp_path) == []


def test_nothing_half_written_is_left_in_the_cache(shipped: Path, tmp_path: Path) -> None:
    load()
    assert [path.suffix for path in (tmp_path / "XDG_CACHE_HOME").rglob("*") if path.is_file()] == [
        ".kvd"
    ]


def test_one_broken_record_never_takes_the_rest_down(shipped: Path) -> None:
    bad = write(shipped, "bad-record", area="blocks")
    bad.write_text(bad.read_text().replace("tokens % block_size != 0", "tokenz > 1"))
    (shipped / "records/blocks/worse-record.yaml").write_text("id: [\n")
    (shipped / "records/blocks/binary-record.yaml").write_bytes(b"\xff\xfe\x00")
    knowledge = load()
    assert set(knowledge.records) == {"first-record"}
    told = {Path(one.file).stem: one for one in knowledge.problems}
    assert set(told) == {"bad-record", "worse-record", "binary-record"}
    assert told["bad-record"].line > 1
    assert "did you mean 'tokens'?" in str(told["bad-record"])
    assert len(load().problems) == 3  # from the cache too


def test_two_records_of_one_id_are_told(shipped: Path) -> None:
    write(shipped, "first-record", area="other")
    knowledge = load()
    assert len(knowledge.records) == 1
    assert "already taken" in str(knowledge.problems[0])


def test_private_records_override_by_id_and_extend(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    write(mine, "first-record", title="Ours")
    write(mine, "our-record")
    write(theirs, "our-record", area="team", title="The team's")
    monkeypatch.setenv("KVDOCTOR_KNOWLEDGE", str(mine))
    knowledge = load([theirs])
    assert {i: r.title for i, r in knowledge.records.items()} == {
        "first-record": "Ours",
        "our-record": "The team's",
    }
    assert all(record.private for record in knowledge.records.values())
    owners = [entry.record for entry in knowledge.entries]
    assert sorted(owners) == ["first-record", "our-record"]
    assert knowledge.guarded == ("first-record", "our-record")
    shipped_only = load(private=False)
    assert not shipped_only.records["first-record"].private


def test_the_folder_of_the_user_is_read(shipped: Path, tmp_path: Path) -> None:
    folder = tmp_path / "XDG_CONFIG_HOME/kvdoctor/knowledge"
    write(folder, "our-record")
    assert set(load().records) == {"first-record", "our-record"}
    assert load().paths["private"] == str(folder)


def test_a_folder_that_is_not_there_is_told(shipped: Path, tmp_path: Path) -> None:
    knowledge = load([tmp_path / "nowhere"])
    assert "no such folder" in str(knowledge.problems[0])
    assert set(knowledge.records) == {"first-record"}


def test_wrappers_are_recognised_whole_only(shipped: Path) -> None:
    knowledge = load()
    found = knowledge.wrapper_of("Worker failed with error 'x'", "RuntimeError")
    assert found is not None
    assert (found.id, found.quotes) == ("failed", "error")
    assert knowledge.wrapper_of("Worker failed to start") is None


def test_a_record_is_found_by_what_was_published(shipped: Path) -> None:
    file = write(shipped, "second-record", area="blocks")
    with file.open("a") as text:
        text.write(
            "published:\n  - {id: 80ae, slug: blocks-x, url: 'https://example.org/errors/80ae/'}\n"
        )
    knowledge = load()
    for name in ("80ae", "blocks-x", "https://example.org/errors/80ae", "second-record"):
        assert knowledge.resolve(name) == "second-record"
    assert knowledge.resolve("https://example.org/errors/80af") is None
    assert knowledge.resolve("nothing") is None


def test_search_ranks_by_the_words_of_the_title(shipped: Path) -> None:
    write(shipped, "second-record", area="blocks", title="Handshakes time out")
    assert [one.id for one in load().search("handshake timeout")] == ["second-record"]
    assert load().search("the of") == ()


def test_relations_are_known_from_both_ends(shipped: Path) -> None:
    file = write(shipped, "second-record", area="blocks")
    text = file.read_text().replace(
        "related: []", "related: [{id: first-record, kind: leads-to, why: because}]"
    )
    file.write_text(text)
    knowledge = load()
    assert knowledge.relations_to("first-record") == (("second-record", "leads-to", "because"),)
    assert knowledge.leads_to("second-record", "first-record")
    assert not knowledge.leads_to("first-record", "second-record")


def test_knowledge_made_of_records_alone_answers_the_same(shipped: Path) -> None:
    loaded = load()
    made = Knowledge(records=dict(loaded.records))
    message = MESSAGE.replace("this record", "first-record")
    assert list(made.claims(message)) == list(loaded.claims(message))
    assert made.guarded == loaded.guarded
    assert made.entries[0].identify == loaded.entries[0].identify


def test_the_compiled_form_of_a_wheel_is_the_same_every_time(shipped: Path) -> None:
    first = compiled_for_wheel(shipped)
    for path in shipped.rglob("*.yaml"):
        os.utime(path, (1, 1))
    assert compiled_for_wheel(shipped) == first


def test_the_compiled_form_does_not_depend_on_the_process(shipped: Path) -> None:
    write(shipped, "second-record", area="blocks")
    code = (
        "import sys, hashlib, pathlib; from kvdoctor.compiled import compiled_for_wheel;"
        "print(hashlib.sha256(compiled_for_wheel(pathlib.Path(sys.argv[1]))).hexdigest())"
    )
    made = {
        subprocess.run(
            [sys.executable, "-c", code, str(shipped)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(made) == 1


def test_a_wheel_needs_neither_yaml_nor_a_cache(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shipped / compiled.NAME).write_bytes(compiled_for_wheel(shipped))
    monkeypatch.setattr(compiled, "compile_folder", None)
    assert set(load().records) == {"first-record"}
    assert cache_files(tmp_path) == []


def test_a_wheel_whose_records_were_edited_is_read_again(shipped: Path) -> None:
    (shipped / compiled.NAME).write_bytes(compiled_for_wheel(shipped))
    write(shipped, "first-record", area="blocks", title="Edited in place")
    assert load().records["first-record"].title == "Edited in place"


def test_a_wheel_is_not_built_from_broken_records(shipped: Path) -> None:
    bad = write(shipped, "bad-record", area="blocks")
    bad.write_text(bad.read_text().replace("status: draft", "status: great"))
    with pytest.raises(RuntimeError, match="bad-record"):
        compiled_for_wheel(shipped)
