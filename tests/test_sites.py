"""The shipped catalogue: right sites for real messages and frames, sizes, times, fingerprints."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import yaml

from kvdoctor.catalogue.foreign import ForeignMessages
from kvdoctor.catalogue.sites import Sites
from kvdoctor.intake.paste import Failure, Frame, LogRecord
from kvdoctor.record import Wrapper
from kvdoctor.text.gramindex import PatternIndex
from kvdoctor.text.template import Pattern

KNOWLEDGE = Path(__file__).parent.parent / "knowledge"
FOLDER = KNOWLEDGE / "sites"
NIXL = "vllm/distributed/kv_transfer/kv_connector/v1/nixl"
ASSERT = "assert num_external_tokens == 0"  # pull_scheduler.py:186 of 0.32.0


@pytest.fixture(scope="module")
def sites() -> Sites:
    return Sites(FOLDER)


def failure(exception: str, message: str, *frames: Frame, form: str = "traceback") -> Failure:
    return Failure(exception, message, frames, 10, 1, 10, form)


# ---------------------------------------------------------------- the whole


def test_the_catalogue_covers_twenty_two_releases(sites: Sites) -> None:
    assert len(sites.releases) == 22
    assert (sites.releases[0], sites.releases[-1]) == ("0.11.2", "0.33.0")
    assert len(sites) > 6000


def test_the_index_is_the_one_that_the_rows_give(sites: Sites) -> None:
    rows = json.loads((FOLDER / "sites.json").read_text("utf-8"))["rows"]
    built = PatternIndex.build((str(number), row[3]) for number, row in enumerate(rows))
    assert json.loads((FOLDER / "index.json").read_text("utf-8")) == built.to_json()


def test_the_files_stay_small_and_quick_to_open() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 6_000_000
    best = 1.0
    for _ in range(5):
        begun = time.perf_counter()
        Sites(FOLDER).by_message("Please specify kv_role when kv_connector is set")
        best = min(best, time.perf_counter() - begun)
    assert best < 0.15  # a crowded machine; alone it takes a fifth of this


def test_a_missing_catalogue_is_empty_and_answers_nothing(tmp_path: Path) -> None:
    empty = Sites(tmp_path)
    assert len(empty) == 0
    assert empty.by_message("TP sizes must be positive", "ValueError") == ()
    assert empty.by_frame("vllm/v1/engine/core.py", 1) == ()
    assert empty.similar("TP sizes must be positive") == ()
    assert empty.fingerprints.frame("vllm/v1/engine/core.py", 1) is None


# ---------------------------------------------------------------- by message


def test_a_message_names_its_site_in_the_release_of_the_log(sites: Sites) -> None:
    message = (
        "Please specify kv_role when kv_connector is set, supported roles are "
        "('kv_producer', 'kv_both', 'kv_consumer')"
    )
    hit = sites.by_message(message, "ValueError", candidates=("0.32.0",))[0]
    assert hit.file == "vllm/config/kv_transfer.py"
    assert (hit.function, hit.line) == ("__post_init__", 121)
    assert (hit.kind, hit.exception, hit.complete) == ("raise", "ValueError", True)


def test_white_space_quotes_and_wraps_do_not_matter(sites: Sites) -> None:
    damaged = "MoRIIO KV cache block\nsize mis match for layer   model.layers.1.attn: 32 != 16"
    hit = sites.by_message(damaged, "ValueError")[0]
    assert hit.function == "register_kv_caches"
    assert hit.template.startswith("MoRIIO KV cache block size mismatch for layer")


def test_a_message_that_is_cut_off_is_still_found(sites: Sites) -> None:
    hit = sites.by_message("MoRIIO heterogeneous TP requires replicated KV heads on bo")[0]
    assert hit.function == "validate_moriio_heterogeneous_tp_kv_heads"
    assert not hit.complete


def test_the_same_words_in_two_places_are_told_apart_by_the_head(sites: Sites) -> None:
    message = "Got invalid KVTransferParams: {'a': 1}. This request will not utilize KVTransfer"
    for file in ("mooncake_connector.py", "moriio_connector.py"):
        hit = sites.by_message(message, level="WARNING", log_file=file)[0]
        assert hit.file.endswith(file)


def test_a_message_that_is_not_vllm_s_is_not_found(sites: Sites) -> None:
    for message in (
        "No module named 'acme_kv'",
        "could not connect to server: Connection refused",
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "[Errno 98] Address already in use",
        "list index out of range",
        "",
    ):
        assert sites.by_message(message, "RuntimeError") == ()


def test_another_exception_class_does_not_fit_a_short_message(sites: Sites) -> None:
    assert sites.by_message("TP sizes must be positive", "ValueError")
    assert not sites.by_message("TP sizes must be positive", "KeyError")


# ---------------------------------------------------------------- by frame


def test_a_bare_assert_is_known_by_its_frame(sites: Sites) -> None:
    hit = sites.by_frame(
        f"{NIXL}/pull_scheduler.py", 186, "update_state_after_alloc", ASSERT,
        ("0.32.0",),
    )[0]  # fmt: skip
    assert (hit.kind, hit.line, hit.exact) == ("assert", 186, True)
    assert "0.32.0" in hit.releases


def test_a_patched_build_is_recognised_by_the_text_of_the_line(sites: Sites) -> None:
    hit = sites.by_frame(
        f"{NIXL}/pull_scheduler.py", 9186, "update_state_after_alloc",
        "        assert  num_external_tokens==0",
    )[0]  # fmt: skip
    assert (hit.kind, hit.exact) == ("assert", False)


def test_frames_decide_who_raised(sites: Sites) -> None:
    foreign = Frame("/x/lmcache/v1/a.py", "lmcache/v1/a.py", 3, "check", "raise ValueError(m)", 9)
    own = Frame(
        "/x/vllm/a.py", "vllm/distributed/kv_transfer/kv_connector/v1/moriio/moriio_connector.py",
        143, "get_moriio_remote_tp_rank", 'raise ValueError("TP sizes must be positive")', 9,
    )  # fmt: skip
    assert sites.of_failure(failure("ValueError", "TP sizes must be positive", foreign)) is None
    hit = sites.of_failure(failure("ValueError", "TP sizes must be positive", own), ("0.32.0",))
    assert hit is not None
    assert (hit.line, hit.holes) == (143, {})


def test_a_frame_whose_line_raises_nothing_is_no_site(sites: Sites) -> None:
    frame = Frame("vllm/envs.py", "vllm/envs.py", 888, "<lambda>", "int(value)", 3)
    assert sites.of_failure(failure("ValueError", "invalid literal for int()", frame)) is None


def test_a_traceback_without_its_last_line_is_named_by_the_frame(sites: Sites) -> None:
    frame = Frame(
        "x", f"{NIXL}/pull_scheduler.py", 186, "update_state_after_alloc",
        ASSERT, 3,
    )  # fmt: skip
    hit = sites.of_failure(failure("", "", frame, form="cut"), ("0.32.0",))
    assert hit is not None
    assert hit.kind == "assert"


def test_a_log_record_is_named_by_its_own_line(sites: Sites) -> None:
    record = LogRecord(
        1, 1, "WARNING",
        "Releasing expired KV blocks for request cmpl-1 which were retrieved by 0 remote worker(s) "
        "before lease expired.", log_file="base_worker.py", log_line=3032,
    )  # fmt: skip
    hit = sites.of_log(record, ("0.32.0",))
    assert hit is not None
    assert (hit.file, hit.line, hit.holes["req_id"]) == (f"{NIXL}/base_worker.py", 3032, "cmpl-1")


# ---------------------------------------------------------------- about a site


def test_the_history_of_a_site_spans_its_moves(sites: Sites) -> None:
    hit = sites.by_message("Partial-tail offloads for one request must share a boundary")[0]
    site = sites.site(hit.id)
    assert site is not None
    files = {place.partition(":")[0].rpartition("/")[2] for _, place, _ in site.places}
    assert "scheduler.py" in files
    assert [one[0] for one in site.places] == sorted(
        (one[0] for one in site.places), key=sites.releases.index
    )


def test_a_wording_that_drifted_is_one_site(sites: Sites) -> None:
    old = "To serve at least one request with the models's max seq len (8), (1 GiB KV cache is n"
    new = "To serve at least one request with the model's max seq len (8), (1 GiB KV cache is n"
    ids = [
        {one.id for one in sites.by_message(text, "ValueError") if one.until == "0.33.0"}
        for text in (old, new)
    ]
    assert ids[0] & ids[1]


def test_neighbours_are_the_other_sites_of_the_function(sites: Sites) -> None:
    hit = sites.by_message("Please specify kv_role when kv_connector is set", "ValueError")[0]
    near = sites.neighbours(hit)
    assert any(one.template.startswith("Unsupported kv_role") for one in near)
    assert hit.id not in {one.id for one in near}


def test_the_nearest_sites_are_offered_as_a_guess(sites: Sites) -> None:
    found = sites.similar("kv_connector was set but please give a kv_role, roles supported are …")
    assert found[0].template.startswith("Please specify kv_role when kv_connector is set")
    assert not found[0].exact


# ---------------------------------------------------------------- fingerprints


@pytest.mark.parametrize(
    ("release", "line"), [("0.11.2", 842), ("0.20.2", 1136), ("0.28.0", 1346), ("0.33.0", 1584)]
)
def test_the_head_of_a_log_record_tells_the_release(sites: Sites, release: str, line: int) -> None:
    assert sites.fingerprints.log("core.py", line, "EngineCore failed to start.") == (release,)
    assert sites.fingerprints.log("v1/engine/core.py", line) is not None


def test_a_head_that_no_release_has_is_told_from_a_file_nobody_knows(sites: Sites) -> None:
    assert sites.fingerprints.log("core.py", 99999, "EngineCore failed to start.") == ()
    assert sites.fingerprints.log("my_own_plugin.py", 3) is None


def test_a_frame_tells_the_releases_in_which_it_can_stand(sites: Sites) -> None:
    path = f"{NIXL}/pull_scheduler.py"
    fits = sites.fingerprints.frame(path, 186, ASSERT)
    assert fits is not None
    assert "0.32.0" in fits
    assert sites.fingerprints.frame(path, 186, "assert something_else") == ()
    assert sites.fingerprints.frame("vllm/v1/no_such_file.py", 1) is None
    assert "0.32.0" in sites.fingerprints.moved(path, ASSERT)


def test_a_path_tells_the_releases_that_have_the_file(sites: Sites) -> None:
    found = sites.fingerprints.path(f"{NIXL}/base_worker.py")
    assert found is not None
    assert (found[0], found[-1]) == ("0.24.0", "0.33.0")


# ---------------------------------------------------------------- hand-written beside it


def test_every_wrapper_can_be_read_and_its_quoted_hole_exists() -> None:
    trees = yaml.safe_load((KNOWLEDGE / "wrappers.yaml").read_text("utf-8"))
    wrappers = [Wrapper(**tree) for tree in trees]
    assert len({one.id for one in wrappers}) == len(wrappers)
    for one in wrappers:
        pattern = Pattern.compile(one.message)
        assert pattern.literal_chars >= 5
        assert not one.quotes or one.quotes in pattern.names
        assert one.noise or one.where


def test_the_fixed_wrappers_are_in_the_catalogue_too(sites: Sites) -> None:
    for message, exception in (
        ("EngineCore encountered an issue. See stack trace (above) for the root cause.",
         "EngineDeadError"),
        ("Engine core initialization failed. See root cause above. Failed core proc(s): {}",
         "RuntimeError"),
        ("Worker failed with error 'x', please check the stack trace above for the root cause",
         "RuntimeError"),
    ):  # fmt: skip
        assert sites.by_message(message, exception)[0].since == "0.11.2"


@pytest.fixture(scope="module")
def foreign() -> ForeignMessages:
    return ForeignMessages(yaml.safe_load((KNOWLEDGE / "foreign.yaml").read_text("utf-8")))


def test_a_status_code_has_an_owner_and_a_meaning(foreign: ForeignMessages) -> None:
    found = foreign.find("post_xfer failed: NIXL_ERR_REMOTE_DISCONNECT")
    assert found is not None
    assert (found.owner, found.text, found.code) == ("nixl", "NIXL_ERR_REMOTE_DISCONNECT", True)
    number = foreign.number(-800)
    assert number is not None
    assert number.text == "TRANSFER_FAIL"
    assert foreign.owner_of("nixl_cu12._bindings.nixlBackendError") == "nixl"


def test_a_code_that_others_use_counts_only_for_its_owner(foreign: ForeignMessages) -> None:
    assert foreign.find("open failed: FILE_NOT_FOUND") is None
    found = foreign.find("open failed: FILE_NOT_FOUND", owner="mooncake")
    assert found is not None
    assert found.owner == "mooncake"


def test_a_native_line_is_known_by_its_file(foreign: ForeignMessages) -> None:
    text = "No RDMA devices found, check your device installation"
    found = foreign.find(text, native="topology.cpp:201]")
    assert found is not None
    assert found.owner == "mooncake"
    assert foreign.find(text, native="somebody_else.cpp:1]") is None
