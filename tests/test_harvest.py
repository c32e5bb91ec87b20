"""From source text to sites: wordings, places, histories, files."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from textwrap import dedent

import pytest

from kvdoctor.catalogue.fingerprints import decode_lines
from kvdoctor.catalogue.sites import Sites
from kvdoctor.errors import InputError
from kvdoctor.harvest import run
from kvdoctor.harvest.extract import FileFacts, RawSite, extract, message_of
from kvdoctor.harvest.lines import encode_lines
from kvdoctor.harvest.sources import open_source, release_key

CONNECTOR = "vllm/distributed/kv_transfer/kv_connector/v1/made_up.py"


def facts(text: str) -> FileFacts:
    return extract(dedent(text).encode())


def only(text: str) -> RawSite:
    sites = facts(text).sites
    assert len(sites) == 1
    return sites[0]


def wording(text: str) -> str:
    found = facts(text)
    site = found.sites[-1]
    if site.made is None:
        return site.wordings[0]
    return message_of(site.made, {one.name: one for one in found.classes})[0]


def wordings(text: str) -> tuple[str, ...]:
    found = facts(text)
    site = found.sites[-1]
    if site.made is None:
        return site.wordings
    return message_of(site.made, {one.name: one for one in found.classes})


# ---------------------------------------------------------------- wordings


@pytest.mark.parametrize(
    ("source", "template"),
    [
        ("raise ValueError(f'size {self.block_size} bad')", "size {block_size} bad"),
        ("raise ValueError('size %d of %s bad' % (size, layer.name))",
         "size {size} of {layer_name} bad"),
        ("raise ValueError('size {} of {name} bad'.format(size, name=n))",
         "size {size} of {n} bad"),
        ("raise ValueError('one ' 'two ' f'{three} four')", "one two {three} four"),
        ("raise ValueError('got ' + str(value) + ' instead')", "got {value} instead"),
        ("raise ValueError('names: ' + ', '.join(names))", "names: {names}"),
        ("raise ValueError(f'{len(blocks)} blocks, {blocks!r:>4}')",
         "{num_blocks} blocks, {blocks}"),
        ("raise ValueError(f'{a.x} is not {b.x} at all')", "{x} is not {x_2} at all"),
        ("raise ValueError(f'literal {{braces}} {hole}')", "literal {{braces}} {hole}"),
        ("raise ValueError(f'{config[\"kv_role\"]} is no role')", "{kv_role} is no role"),
        ("raise ValueError(f'{size=} is wrong')", "size={size} is wrong"),
        ("raise OSError(1, f'no file {path}')", "[Errno {errno}] no file {path}"),
        ("logger.error('failed %s after %.2fs', request_id, seconds)",
         "failed {request_id} after {seconds}s"),
        ("logger.warning_once('50%% of {x} is 100%')", "50%% of {{x}} is 100%"),
        ("logger.warning('50%% of %s', total)", "50% of {total}"),
        ("logger.error(msg=f'no block {block}')", "no block {block}"),
        ("raise HTTPException(400, f'unknown model {name}')", "unknown model {name}"),
    ],
)  # fmt: skip
def test_a_message_becomes_a_template_with_named_holes(source: str, template: str) -> None:
    assert wording(source) == template


def test_a_message_built_in_a_variable_keeps_all_its_branches() -> None:
    found = wordings("""
        def check(a):
            msg = "the first part."
            if a:
                msg += f" With {a}."
            raise ValueError(msg)
    """)
    assert found == ("the first part.", "the first part. With {a}.")


def test_a_later_assignment_in_the_same_block_replaces_the_earlier_one() -> None:
    found = wordings("""
        def check(a):
            msg = "never seen text"
            msg = f"seen {a} text"
            raise ValueError(msg)
    """)
    assert found == ("seen {a} text",)


def test_a_joined_list_gives_the_texts_that_were_put_into_it() -> None:
    found = wordings("""
        def check(groups):
            unsupported = []
            for name in groups:
                unsupported.append(f"group {name} is not aligned")
            raise ValueError("Unsupported: " + "; ".join(unsupported))
    """)
    assert found == ("Unsupported: group {name} is not aligned{unsupported}",)


def test_a_conditional_message_has_one_wording_per_branch() -> None:
    assert wordings("raise ValueError('too many of them' if big else 'too few of them')") == (
        "too many of them",
        "too few of them",
    )


def test_a_module_constant_and_a_helper_function_are_followed() -> None:
    assert wording("TEXT = 'the constant text'\nraise RuntimeError(TEXT)") == "the constant text"
    assert (
        wording("""
        def describe(x):
            return f"described {x} here"
        def check(x):
            raise RuntimeError(describe(x))
    """)
        == "described {x} here"
    )


def test_an_exception_class_with_its_own_message_is_followed() -> None:
    assert (
        wording("""
        class FullError(Exception):
            def __init__(self, needed, free):
                super().__init__(f"need {needed} blocks, {free} are free")
        def take(n, pool):
            raise FullError(n, free=pool.free_blocks)
    """)
        == "need {n} blocks, {free_blocks} are free"
    )


def test_a_class_that_passes_its_argument_on_keeps_the_argument_s_text() -> None:
    found = wordings("""
        class PlainError(ValueError):
            def __init__(self, message, code=0):
                super().__init__(message)
        raise PlainError("the argument's text", code=3)
    """)
    assert found == ("the argument's text",)


def test_an_assert_keeps_its_condition_without_white_space() -> None:
    site = only("assert  a ==  b")
    assert (site.kind, site.exception, site.wordings, site.code) == (
        "assert", "AssertionError", (), "a==b",
    )  # fmt: skip


def test_an_assert_over_several_lines_tells_how_many_a_frame_can_name() -> None:
    assert only("assert (\n    a\n    == b\n), 'they differ'").lines == 3


def test_a_reraise_is_no_site() -> None:
    assert not facts("""
        try:
            work()
        except ValueError as error:
            raise
        except KeyError as error:
            raise error
    """).sites


def test_a_class_that_is_chosen_at_run_time_is_a_site_without_a_class() -> None:
    site = only("raise ERRORS[code](f'no such device {name}')")
    assert (site.exception, wording("raise ERRORS[code](f'no such device {name}')")) == (
        "", "no such device {name}",
    )  # fmt: skip
    assert only("raise _Private('hidden class text')").exception == "_Private"


def test_an_exception_made_first_and_raised_later_is_a_site() -> None:
    found = facts("""
        def check(x):
            error = ValueError(f"made early with {x}")
            raise error
    """).sites
    assert {one.line for one in found} == {3, 4}


def test_log_calls_below_warning_are_heads_but_no_sites() -> None:
    found = facts("logger.info('started with %s', x)\nlogger.debug('detail')")
    assert not found.sites
    assert [(one.line, one.prefix) for one in found.heads] == [(1, "startedwith"), (2, "detail")]


@pytest.mark.parametrize(
    ("source", "category", "template"),
    [
        ("warnings.warn(f'{name} goes away', DeprecationWarning, stacklevel=2)",
         "DeprecationWarning", "{name} goes away"),
        ("warnings.warn('nothing is kept here', stacklevel=2)", "UserWarning",
         "nothing is kept here"),
        ("warn(message='nothing is kept here', category=FutureWarning)", "FutureWarning",
         "nothing is kept here"),
        ("warnings.warn(RuntimeWarning('nothing is kept here'))", "RuntimeWarning",
         "nothing is kept here"),
    ],
)  # fmt: skip
def test_a_warning_is_a_site_with_its_category(source: str, category: str, template: str) -> None:
    site = only(source)
    assert (site.kind, site.exception, site.wordings) == ("warning", category, (template,))


def test_a_parser_that_refuses_ends_the_process() -> None:
    site = only("self.parser.error(f'bad value: {value}')")
    assert (site.kind, site.exception) == ("raise", "SystemExit")
    assert site.wordings == ("bad value: {value}",)
    assert facts("self.client.error('bad value of it')").sites == []


def test_a_level_that_is_chosen_at_run_time_is_the_worse_one() -> None:
    chosen = "logger.log(logging.ERROR if bad else logging.INFO, 'block %d is gone', block)"
    assert (only(chosen).level, only(chosen).wordings) == ("ERROR", ("block {block} is gone",))
    named = only("""
        def tell(bad, block):
            say = logger.error if bad else logger.info
            say("block %d is gone", block)
    """)
    assert (named.level, named.wordings) == ("ERROR", ("block {block} is gone",))
    quiet = facts("def tell(bad):\n    say = print if bad else len\n    say('block is gone')\n")
    assert quiet.sites == []


def test_a_text_that_only_joins_others_says_what_they_say() -> None:
    found = wordings("""
        def check(a):
            head = "block size differs"
            tail = f"expected {a}" if a else "expected any"
            raise ValueError(f"{head}: {tail}")
    """)
    assert found == ("block size differs: expected {a}", "block size differs: expected any")


def test_the_function_is_qualified() -> None:
    site = only("""
        class Outer:
            def method(self):
                def inner():
                    raise ValueError("something inside")
    """)
    assert site.function == "Outer.method.inner"


def test_a_file_that_is_no_python_gives_nothing() -> None:
    assert extract(b"def broken(:\n") == FileFacts()
    assert extract(b"\x00\xff") == FileFacts()


# ---------------------------------------------------------------- sources


def tree(folder: Path, release: str, files: dict[str, str]) -> Path:
    root = folder / f"vllm-{release}"
    for path, text in {"vllm/__init__.py": "", **files}.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(dedent(text), encoding="utf-8")
    return root


def test_a_folder_an_sdist_and_a_wheel_give_the_same(tmp_path: Path) -> None:
    root = tree(tmp_path, "0.40.0", {CONNECTOR: "raise ValueError('the same text')\n"})
    sdist = tmp_path / "vllm-0.40.0.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        archive.add(root, "vllm-0.40.0")
        info = tarfile.TarInfo("vllm-0.40.0/PKG-INFO")
        info.size = 24
        archive.addfile(info, io.BytesIO(b"Name: x\nVersion: 0.40.0\n"))
    wheel = tmp_path / "vllm-0.40.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for file in root.rglob("*.py"):
            packed.write(file, file.relative_to(root).as_posix())
        packed.writestr("vllm-0.40.0.dist-info/METADATA", "Name: x\nVersion: 0.40.0\n")
    sources = [open_source(path) for path in (root, sdist, wheel)]
    assert {one.release for one in sources} == {"0.40.0"}
    assert sources[0].files == sources[1].files == sources[2].files


def test_the_release_comes_from_the_package_itself_when_it_says(tmp_path: Path) -> None:
    root = tree(tmp_path, "1.0", {"vllm/_version.py": "__version__ = version = '0.41.2'\n"})
    assert open_source(root).release == "0.41.2"
    assert open_source(root / "vllm").release == "0.41.2"


def test_what_is_no_source_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("text")
    with pytest.raises(InputError, match="not a source"):
        open_source(tmp_path / "notes.txt")
    with pytest.raises(InputError, match="no package"):
        open_source(tmp_path)
    broken = tmp_path / "vllm-0.1.tar.gz"
    broken.write_bytes(b"no archive")
    with pytest.raises(InputError, match="cannot be read"):
        open_source(broken)


def test_releases_are_ordered_by_number() -> None:
    assert sorted(["0.11.2", "0.9.1", "0.33.0"], key=release_key) == ["0.9.1", "0.11.2", "0.33.0"]


def test_one_release_given_twice_is_refused(tmp_path: Path) -> None:
    one = tree(tmp_path / "a", "0.40.0", {})
    two = tree(tmp_path / "b", "0.40.0", {})
    with pytest.raises(InputError, match="both"):
        run([str(one), str(two)], str(tmp_path / "out"))


# ---------------------------------------------------------------- histories


def harvested(folder: Path, *releases: dict[str, str]) -> Sites:
    roots = [
        str(tree(folder / "in", f"0.{40 + number}.0", files))
        for number, files in enumerate(releases)
    ]
    run(roots, str(folder / "out"))
    return Sites(folder / "out")


def test_a_site_that_moves_down_the_file_is_one_site_with_a_line_per_release(
    tmp_path: Path,
) -> None:
    text = "def check(x):\n    raise ValueError(f'value {x} is out of range')\n"
    sites = harvested(tmp_path, {CONNECTOR: text}, {CONNECTOR: "import os\n\n" + text})
    hit = sites.by_message("value 7 is out of range", "ValueError")[0]
    site = sites.site(hit.id)
    assert site is not None
    assert len(sites) == 1
    assert site.places == (
        ("0.40.0", f"{CONNECTOR}:check", 2),
        ("0.41.0", f"{CONNECTOR}:check", 4),
    )
    assert (hit.since, hit.until, hit.line, hit.release) == ("0.40.0", "0.41.0", 4, "0.41.0")


def test_a_site_that_moves_to_another_file_keeps_its_history(tmp_path: Path) -> None:
    text = "def check(x):\n    raise ValueError('a telling text about partial tails')\n"
    other = CONNECTOR.replace("made_up", "moved")
    sites = harvested(tmp_path, {CONNECTOR: text}, {other: text})
    assert len(sites) == 1
    hit = sites.by_message("a telling text about partial tails")[0]
    assert (hit.file, hit.since, hit.until) == (other, "0.40.0", "0.41.0")
    old = sites.by_message("a telling text about partial tails", candidates=("0.40.0",))[0]
    assert old.file == CONNECTOR


def test_a_changed_wording_is_one_history_and_each_release_has_its_own_text(
    tmp_path: Path,
) -> None:
    text = "def check(n):\n    raise ValueError(f'the {} max length {{n}} is too big')\n"
    sites = harvested(
        tmp_path, {CONNECTOR: text.format("models")}, {CONNECTOR: text.format("model")}
    )
    assert len(sites) == 1
    old = sites.by_message("the models max length 9 is too big")[0]
    assert (old.releases, old.until, old.holes["n"]) == (("0.40.0",), "0.41.0", "9")


def test_a_site_that_is_gone_says_until_when_it_existed(tmp_path: Path) -> None:
    text = "def check(x):\n    assert x.block_ids_are_known\n"
    sites = harvested(tmp_path, {CONNECTOR: text}, {CONNECTOR: "def check(x):\n    pass\n"})
    hit = sites.by_frame(CONNECTOR, 2, "check", "assert x.block_ids_are_known")[0]
    assert (hit.kind, hit.until, hit.code) == ("assert", "0.40.0", "x.block_ids_are_known")


def test_two_equal_asserts_in_one_function_stay_two_sites(tmp_path: Path) -> None:
    text = "def check(x):\n    assert x.ready\n    x.work()\n    assert x.ready\n"
    sites = harvested(tmp_path, {CONNECTOR: text}, {CONNECTOR: "\n" + text})
    assert len(sites) == 2
    first = sites.by_frame(CONNECTOR, 3, "check", "assert x.ready", ("0.41.0",))[0]
    second = sites.by_frame(CONNECTOR, 5, "check", "assert x.ready", ("0.41.0",))[0]
    assert first.id != second.id
    assert sites.neighbours(first)[0].id == second.id


# ---------------------------------------------------------------- bytes


def test_harvesting_twice_gives_the_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    files = {
        CONNECTOR: "def check(x):\n    msg = 'first words'\n    if x:\n        msg += f' {x} on'\n"
        "    logger.warning('words %s', x)\n    raise ValueError(msg)\n",
    }
    roots = [str(tree(tmp_path, "0.40.0", files)), str(tree(tmp_path, "0.41.0", files))]
    outs = []
    for seed in ("1", "2"):
        out = tmp_path / f"out{seed}"
        code = f"from kvdoctor.harvest import run; run({roots!r}, {str(out)!r})"
        subprocess.run(
            [sys.executable, "-c", code], check=True, env={"PYTHONHASHSEED": seed, "PATH": ""}
        )
        outs.append({file.name: file.read_bytes() for file in out.iterdir()})
    assert outs[0] == outs[1]
    assert set(outs[0]) == {"sites.json", "index.json", "places.txt", "lines.txt", "heads.txt"}


def test_line_hashes_come_back_as_they_were_put_in() -> None:
    releases: list[list[str] | None] = [
        None,
        ["abc", "", "", "def"],
        ["abc", "", "", "def"],
        ["", "abc", "", "xyz", "def", "uvw"],
        None,
        [],
        ["abc"],
    ]
    assert decode_lines(encode_lines(releases)) == releases
