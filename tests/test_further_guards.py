"""The fixes of one record, held against the guards of all the others that vLLM reaches."""

from __future__ import annotations

from kvdoctor.intake import read
from kvdoctor.load import load
from kvdoctor.report import OfferedFix, Report, Source, read_sources, report
from kvdoctor.show.document import document
from kvdoctor.show.note import incident_note
from kvdoctor.show.plain import report_text

NIXL = (
    "INFO 11-30 19:41:33 [api_utils.py:286] non-default args: {'model_tag': '/models/m', 'model': "
    "'/models/m', 'tensor_parallel_size': %d, 'decode_context_parallel_size': %d, "
    "'kv_transfer_config': KVTransferConfig(kv_connector='NixlConnector', kv_role='kv_both')}\n"
)
DCP = (
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ParallelConfig\n"
    "  Value error, tp_size=%d must be divisible by dcp_size=%d. [type=value_error, "
    "input_value=ArgsKwargs((), {'pipeline...'numa_bind_cpus': None}), input_type=ArgsKwargs]\n"
)
LLAMA = '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2, '


def of(text: str, **answers: object) -> Report:
    known = load()
    paste = read(text.encode(), "x.log", knowledge=known.reading)
    given = {"vllm_release": "0.32.0", **answers}
    return report(read_sources([Source(paste)], known), known, answers=given)


def fixes(shown: Report) -> dict[str, OfferedFix]:
    return {one.fix.id: one for one in shown.fixes}


def test_of_sizes_that_the_guard_accepts_one_that_no_other_guard_refuses_is_taken() -> None:
    with_nixl = fixes(of(NIXL % (8, 3) + DCP % (8, 3)))["largest-divisor"]
    assert with_nixl.fix.snippet == "--decode-context-parallel-size 8"
    assert with_nixl.stops == ()
    alone = fixes(of(DCP % (8, 3)))["largest-divisor"]
    assert alone.fix.snippet == "--decode-context-parallel-size 2"


def test_a_fix_after_which_a_known_guard_still_fails_says_so_and_stands_behind() -> None:
    config = LLAMA + '"num_attention_heads": 32, "num_key_value_heads": 8}\n'
    shown = of(NIXL % (8, 3) + DCP % (8, 3) + config)
    (first, second) = shown.fixes
    assert (first.fix.id, first.stops) == ("no-dcp", ())
    assert second.fix.id == "largest-divisor"
    assert "nixl-dcp-mla-only" in {link.record for link in second.still_fails}
    told = "after this fix vLLM still stops at nixl-dcp"
    assert told in " ".join(report_text(shown, load()).split())
    assert told in incident_note(shown, load(), "plain")
    made = document(shown, load())["fixes"]
    assert isinstance(made, list)
    assert [bool(one["still_fails"]) for one in made] == [False, True]


HEADS = (
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig\n"
    "  Value error, Total number of attention heads (%d) must be divisible by tensor parallel size "
    "(%d). [type=value_error, input_value=ArgsKwargs((), {'model_co... 'shutdown_timeout': 0}), "
    "input_type=ArgsKwargs]\n"
)
MORIIO = (
    "(Worker_TP0 pid=8) ERROR 11-30 20:00:55 [multiproc_executor.py:1063] NotImplementedError: "
    "MoRIIO heterogeneous TP requires replicated KV heads on both prefill and decode. Got "
    "total_num_kv_heads=8, local_tp_size=8, remote_tp_size=4.\n"
)


def test_a_size_that_divides_the_attention_heads_must_fit_the_kv_heads_too() -> None:
    asking = of(HEADS % (28, 8))
    assert (asking.fixes, asking.fix_asks) == ((), ("total_num_kv_heads",))
    answered = fixes(of(HEADS % (28, 8), total_num_kv_heads=4))["nearest-tp"].fix
    assert answered.snippet == "--tensor-parallel-size 4"
    assert answered.proof.level == "guard"
    config = LLAMA + '"num_attention_heads": 40, "num_key_value_heads": 8}\n'
    read_there = fixes(of(HEADS % (40, 6) + config))["nearest-tp"].fix
    assert read_there.snippet == "--tensor-parallel-size 4"


def test_sizes_that_do_not_divide_the_attention_heads_are_passed_over_when_these_are_known() -> (
    None
):
    config = '\n{"architectures":["Qwen2ForCausalLM"],"num_attention_heads":%d,'
    config += '"num_key_value_heads":8,"num_hidden_layers":64}\n'
    wide = fixes(of(MORIIO + config % 64))["replicate-heads"].fix
    assert wide.snippet.split()[-3:] == ["16", "#", "decode"]
    shown = of(MORIIO + config % 40)
    withheld = {one.id: one.why for one in shown.withheld}
    assert withheld["replicate-heads"] == "it would be prefill-like-decode"
    assert not any(one.stops for one in shown.fixes if one.fix.id != "write-from-0-33")
