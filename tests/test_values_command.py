"""Pasted launch commands: found in their surroundings, taken apart, changed for a fix."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvdoctor.errors import InputError
from kvdoctor.intake import read
from kvdoctor.values import builtin_table, find_launches, read_command, read_values, side_of
from kvdoctor.values.command import Command, find_commands, parse_command, values_of
from kvdoctor.values.rewrite import apply, difference, lines_of, remove_flag, set_env, set_flag
from kvdoctor.values.value import Scalar

TABLE = builtin_table()
FLAGS = TABLE.flags


def stated(text: str) -> dict[str, Scalar]:
    found = list(find_commands(text, FLAGS, 1))
    assert len(found) == 1, text
    result: dict[str, Scalar] = {}
    for name, value, _ in values_of(found[0]):
        result.setdefault(name, value)
    return result


def command(text: str) -> Command:
    (found,) = find_commands(text, FLAGS, 1)
    return found


LONG = """\
VLLM_NIXL_SIDE_CHANNEL_PORT=5600 CUDA_VISIBLE_DEVICES=0,1 vllm serve meta/llama \\
    --tensor-parallel-size 2 \\
    --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}' \\
    --max-model-len 8k \\
    --enforce-eager"""


# -- reading -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "name", "value"),
    [
        ("-tp 2", "tensor_parallel_size", 2),
        ("-tp=2", "tensor_parallel_size", 2),
        ("--tensor-parallel-size=2", "tensor_parallel_size", 2),
        ("--tensor_parallel_size 2", "tensor_parallel_size", 2),
        ("--tensor-parallel 2", "tensor_parallel_size", 2),
        ("—tensor-parallel-size 2", "tensor_parallel_size", 2),
        ("-tp 2 -tp 4", "tensor_parallel_size", 4),
        ("-dcp 2", "decode_context_parallel_size", 2),
        ("--max-model-len 8k", "max_model_len", 8000),
        ("--max-model-len 8K", "max_model_len", 8192),
        ("--max-model-len 25.6k", "max_model_len", 25600),
        ("--max-model-len -1", "max_model_len", -1),
        ("--gpu-memory-utilization .9", "gpu_memory_utilization", 0.9),
        ("--enforce-eager", "enforce_eager", True),
        ("--no-enable-prefix-caching", "enable_prefix_caching", False),
        ("--disable-prefix-caching", "enable_prefix_caching", False),
        ("--enable-prefix-caching --port 1", "enable_prefix_caching", True),
        ("--enable-hybrid-kv-cache-manager", "disable_hybrid_kv_cache_manager", False),
        ("--no-disable-hybrid-kv-cache-manager", "disable_hybrid_kv_cache_manager", False),
        ("--disable-hybrid-kv-cache-manager", "disable_hybrid_kv_cache_manager", True),
        ("--served-model-name a b", "served_model_name", "a,b"),
        ("--kv-transfer-config.kv_role kv_both", "kv_role", "kv_both"),
        ("--kv-transfer-config.kv_role=kv_both", "kv_role", "kv_both"),
        ("--kv-transfer-config.kv_connector_extra_config.backends+ LIBFABRIC", "extra.backends",
         "LIBFABRIC"),
        ("--kv-transfer-config.kv_connector_extra_config.backends+=UCX,GDS", "extra.backends",
         "UCX,GDS"),
        ("""--kv-transfer-config '{"kv_connector_extra_config": {"a": {"b": 1}}}'""",
         "extra.a.b", 1),
        ('--kv-transfer-config "{\\"kv_role\\": \\"kv_both\\"}"', "kv_role", "kv_both"),
        ("--kv-transfer-config “{‘kv_role’: ‘kv_both’}”", "kv_role", "kv_both"),
        ("""--kv-transfer-config '{"kv_role": "kv_both"}' --kv-transfer-config.kv_port 7""",
         "kv_port", 7),
        ("""--speculative-config '{"method": "mtp", "num_speculative_tokens": 1}'""",
         "speculative_config.method", "mtp"),
        ("--some-new-option 3", "some_new_option", 3),
        ("--some-new-switch --port 1", "some_new_switch", True),
    ],
)  # fmt: skip
def test_an_option_is_read_however_it_is_spelled(options: str, name: str, value: object) -> None:
    assert stated("vllm serve m " + options)[name] == value


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m -tp 4",
        "$ vllm serve m -tp 4",
        "# vllm serve m -tp 4",
        "root@host:/app# vllm serve m -tp 4",
        "user@host:~/vllm$ vllm serve m -tp 4 2>&1 | tee log.txt",
        "+ /opt/venv/bin/vllm serve m -tp 4",
        "nohup vllm serve m -tp 4 > out.log 2>&1 &",
        "cd /x && vllm serve m -tp 4; echo done",
        "vllm serve \\\n  m \\\n  -tp 4",
        "vllm serve m \\  \n  -tp 4\nnext line",
        "$ vllm serve m \\\n> -tp 4",
        'bash -c "vllm serve m -tp 4"',
        "sh -c 'exec vllm serve m -tp 4'",
        "CMD vllm serve m -tp 4",
        "I ran `vllm serve m -tp 4` and it broke, don't know why",
        "it's run as: vllm serve m -tp 4",
        "python3 -m vllm.entrypoints.openai.api_server --model m -tp 4",
        "python -m vllm.entrypoints.openai.api_server --model=m --tensor_parallel_size=4",
        "docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.12.0 --model m -tp 4",
        "docker run --rm vllm/vllm-openai:latest vllm serve m -tp 4",
        "vllm serve --model m -tp 4 # four cards",
    ],
)
def test_a_command_is_found_in_its_surroundings(text: str) -> None:
    values = stated(text)
    assert (values["model"], values["tensor_parallel_size"]) == ("m", 4)


@pytest.mark.parametrize(
    "text",
    [
        "usage: vllm serve [model_tag] [options]",
        "vllm serve: error: argument --kv-transfer-config: 1 validation error",
        "the vllm serves requests",
        "vllm serve",
        "image: vllm/vllm-openai:latest",
        "(APIServer pid=1) INFO 01-01 10:00:00 [x.py:1] Run `vllm serve m -tp 4` instead.",
    ],
)
def test_what_only_speaks_of_the_command_is_no_command(text: str) -> None:
    assert find_launches(read(text), table=TABLE) == ()


def test_variables_before_the_command_belong_to_it() -> None:
    found = command(LONG)
    assert [one.name for one in found.env] == [
        "VLLM_NIXL_SIDE_CHANNEL_PORT", "CUDA_VISIBLE_DEVICES",
    ]  # fmt: skip
    assert stated(LONG)["VLLM_NIXL_SIDE_CHANNEL_PORT"] == 5600
    continued = "VLLM_A=1 \\\nVLLM_B=2 \\\nvllm serve m"
    assert stated(continued) == {"VLLM_B": 2, "VLLM_A": 1, "model": "m"}
    container = "docker run -e VLLM_A=1 --env VLLM_B=2 vllm/vllm-openai:v1 --model m"
    assert stated(container) == {"VLLM_B": 2, "VLLM_A": 1, "model": "m"}


def test_every_value_of_a_command_knows_its_line() -> None:
    values = read_values(read("some words\n" + LONG), table=TABLE)
    places = {
        "VLLM_NIXL_SIDE_CHANNEL_PORT": 2, "tensor_parallel_size": 3, "kv_role": 4,
        "max_model_len": 5, "enforce_eager": 6, "model": 2,
    }  # fmt: skip
    entries = {name: values.find(name, "prefill") for name in places}
    assert {name: entry.number for name, entry in entries.items() if entry} == places


def test_two_commands_in_one_text_are_two_sides() -> None:
    text = LONG + "\n\n" + LONG.replace("kv_producer", "kv_consumer").replace("size 2", "size 8")
    values = read_values(read(text), table=TABLE)
    assert side_of(values) == "this"
    assert values.find("tensor_parallel_size", "prefill").value == 2  # type: ignore[union-attr]
    assert values.find("tensor_parallel_size", "decode").value == 8  # type: ignore[union-attr]
    assert [one.side for one in find_launches(read(text), table=TABLE)] == ["prefill", "decode"]


def test_a_log_beside_a_command_has_the_last_word() -> None:
    log = (
        "(APIServer pid=1) INFO 01-01 10:00:00 [x.py:286] non-default args: {'model': 'm', "
        "'tensor_parallel_size': 8, 'kv_transfer_config': C(kv_role='kv_producer')}"
    )
    values = read_values(read(LONG + "\n" + log), table=TABLE)
    assert values.find("tensor_parallel_size", "prefill").value == 8  # type: ignore[union-attr]


def test_a_loose_variable_line_is_read_and_prose_is_not() -> None:
    text = (
        "export VLLM_NIXL_SIDE_CHANNEL_HOST=10.0.0.1\nUCX_TLS = 'rc,cuda_copy'\n"
        "-e VLLM_MOONCAKE_BOOTSTRAP_PORT=8999 \\\nVLLM_KV_CACHE_LAYOUT: HND\n"
        "please set VLLM_CPU_KVCACHE_SPACE=4 to go on\n"
    )
    found = {one.name: one.value for one in read_values(read(text), table=TABLE).entries
             if one.certainty == "stated"}  # fmt: skip
    assert found == {
        "VLLM_NIXL_SIDE_CHANNEL_HOST": "10.0.0.1", "UCX_TLS": "rc,cuda_copy",
        "VLLM_MOONCAKE_BOOTSTRAP_PORT": 8999, "VLLM_KV_CACHE_LAYOUT": "HND",
    }  # fmt: skip


def test_read_command_takes_bare_options_too() -> None:
    values, found = read_command("--tensor-parallel-size 4 --block-size 32", TABLE)
    assert found is not None
    assert values.find("block_size").value == 32  # type: ignore[union-attr]
    assert read_command("no command here", TABLE)[1] is None


# -- changing ----------------------------------------------------------------------------------


def test_a_fix_changes_only_what_it_sets() -> None:
    changed = apply(
        command(LONG),
        {"--tensor-parallel-size": "4", "kv_transfer_config.kv_role": "kv_consumer"},
    )
    assert changed.text == LONG.replace("size 2", "size 4").replace("kv_producer", "kv_consumer")


def test_new_options_are_laid_out_as_the_command_is() -> None:
    assert set_flag(command(LONG), "--block-size", "64").text == LONG + " \\\n    --block-size 64"
    assert set_flag(command("vllm serve m"), "--block-size", "64").text == (
        "vllm serve m --block-size 64"
    )


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ("vllm serve m -tp 2", {"--tensor-parallel-size": "4"}, "vllm serve m -tp 4"),
        ("vllm serve m -tp=2", {"--tensor-parallel-size": "4"}, "vllm serve m -tp=4"),
        ("vllm serve m --tensor_parallel_size=2 -x", {"--tensor-parallel-size": "4"},
         "vllm serve m --tensor_parallel_size=4 -x"),
        ("vllm serve m --no-enable-prefix-caching", {"--enable-prefix-caching": ""},
         "vllm serve m --enable-prefix-caching"),
        ("vllm serve m", {"--enable-prefix-caching": "true"},
         "vllm serve m --enable-prefix-caching"),
        ("vllm serve m", {"--enable-prefix-caching": "false"},
         "vllm serve m --no-enable-prefix-caching"),
        ("vllm serve m --enable-hybrid-kv-cache-manager",
         {"--disable-hybrid-kv-cache-manager": ""},
         "vllm serve m --disable-hybrid-kv-cache-manager"),
        ("vllm serve m", {"--no-disable-hybrid-kv-cache-manager": ""},
         "vllm serve m --no-disable-hybrid-kv-cache-manager"),
        ("vllm serve m --disable-hybrid-kv-cache-manager",
         {"--no-disable-hybrid-kv-cache-manager": ""},
         "vllm serve m --no-disable-hybrid-kv-cache-manager"),
        ("vllm serve m", {"--served-model-name": "two words"},
         "vllm serve m --served-model-name 'two words'"),
        ("vllm serve m", {"VLLM_X": "a b"}, "VLLM_X='a b' vllm serve m"),
        ("VLLM_X=1 vllm serve m", {"VLLM_X": "2"}, "VLLM_X=2 vllm serve m"),
        ("docker run --rm vllm/vllm-openai:v1 --model m", {"VLLM_X": "2"},
         "docker run -e VLLM_X=2 --rm vllm/vllm-openai:v1 --model m"),
        ("docker run -e VLLM_X=1 vllm/vllm-openai:v1 --model m", {"VLLM_X": "2"},
         "docker run -e VLLM_X=2 vllm/vllm-openai:v1 --model m"),
        ("docker run --env=VLLM_X=1 vllm/vllm-openai:v1 --model m", {"VLLM_X": "2"},
         "docker run --env=VLLM_X=2 vllm/vllm-openai:v1 --model m"),
        ("""vllm serve m --kv-transfer-config '{"kv_role": "kv_both"}'""",
         {"kv_transfer_config.kv_connector_extra_config.read_mode": "true"},
         """vllm serve m --kv-transfer-config '{"kv_role": "kv_both", """
         """"kv_connector_extra_config": {"read_mode": true}}'"""),
        ("""vllm serve m --kv-transfer-config '{"kv_role":"kv_both"}'""",
         {"kv_transfer_config.extra.num_workers": "4"},
         """vllm serve m --kv-transfer-config '{"kv_role":"kv_both","""
         """"kv_connector_extra_config":{"num_workers":4}}'"""),
        ("vllm serve m --kv-transfer-config.kv_role kv_both",
         {"kv_transfer_config.kv_role": "kv_producer", "kv_transfer_config.kv_port": "7"},
         "vllm serve m --kv-transfer-config.kv_role kv_producer --kv-transfer-config.kv_port 7"),
        ("vllm serve m", {"kv_transfer_config.kv_role": "kv_both"},
         """vllm serve m --kv-transfer-config '{"kv_role": "kv_both"}'"""),
        ("vllm serve m", {"--kv-transfer-config": '{"kv_role": "kv_both"}'},
         """vllm serve m --kv-transfer-config '{"kv_role": "kv_both"}'"""),
        ("""vllm serve m --kv-transfer-config "{\\"engine_id\\": \\"$HOST\\"}" """,
         {"kv_transfer_config.kv_role": "kv_both"},
         'vllm serve m --kv-transfer-config "{\\"engine_id\\": \\"$HOST\\", \\"kv_role\\": '
         '\\"kv_both\\"}"'),
        ("""vllm serve m --kv-transfer-config “{‘kv_role’: ‘kv_both’}”""",
         {"kv_transfer_config.kv_role": "kv_producer"},
         """vllm serve m --kv-transfer-config '{"kv_role": "kv_producer"}'"""),
    ],
)  # fmt: skip
def test_a_change_keeps_the_spelling_of_the_command(
    before: str, changes: dict[str, str], after: str
) -> None:
    assert apply(command(before), changes).text == after


@pytest.mark.parametrize(
    ("before", "removes", "after"),
    [
        ("vllm serve m -tp 2 --port 1", ["--tensor-parallel-size"], "vllm serve m --port 1"),
        ("vllm serve m --port 1 -tp=2", ["--tensor-parallel-size"], "vllm serve m --port 1"),
        ("vllm serve m --enforce-eager -tp 2", ["--enforce-eager"], "vllm serve m -tp 2"),
        ("vllm serve m", ["--enforce-eager", "VLLM_X", "kv_transfer_config.kv_port"],
         "vllm serve m"),
        ("VLLM_X=1 VLLM_Y=2 vllm serve m", ["VLLM_X"], "VLLM_Y=2 vllm serve m"),
        ("VLLM_Y=2 VLLM_X=1 vllm serve m", ["VLLM_X"], "VLLM_Y=2 vllm serve m"),
        ("docker run -e VLLM_X=1 vllm/vllm-openai:v1 --model m", ["VLLM_X"],
         "docker run vllm/vllm-openai:v1 --model m"),
        ("""vllm serve m --kv-transfer-config '{"kv_role": "kv_both", "kv_rank": 0}'""",
         ["kv_transfer_config.kv_rank"],
         """vllm serve m --kv-transfer-config '{"kv_role": "kv_both"}'"""),
        ("vllm serve m --kv-transfer-config.kv_role a --kv-transfer-config.kv_port 1 -tp 2",
         ["--kv-transfer-config"], "vllm serve m -tp 2"),
        ("vllm serve m --kv-transfer-config.kv_role a --kv-transfer-config.kv_port 1",
         ["kv_transfer_config.kv_port"], "vllm serve m --kv-transfer-config.kv_role a"),
        ("vllm serve m \\\n  -tp 2 \\\n  --port 1", ["--tensor-parallel-size"],
         "vllm serve m \\\n  --port 1"),
        ("vllm serve m \\\n  -tp 2 --port 1 \\\n  -q x", ["--tensor-parallel-size"],
         "vllm serve m \\\n  --port 1 \\\n  -q x"),
    ],
)  # fmt: skip
def test_a_key_is_taken_away_without_a_trace(before: str, removes: list[str], after: str) -> None:
    assert apply(command(before), {}, removes).text == after


def test_a_key_of_a_child_connector_is_changed_in_its_place() -> None:
    before = command(
        "vllm serve m --kv-transfer-config '"
        '{"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":'
        '[{"kv_connector":"NixlConnector"},{"kv_connector":"X"}]}}\''
    )
    key = "kv_transfer_config.kv_connector_extra_config.connectors.1.kv_role"
    after = apply(before, {key: "kv_both"})
    tree = json.loads(shlex.split(after.text)[-1])
    assert tree["kv_connector_extra_config"]["connectors"][1] == {
        "kv_connector": "X", "kv_role": "kv_both",
    }  # fmt: skip
    with pytest.raises(InputError):
        apply(before, {key.replace(".1.", ".7."): "kv_both"})


def test_a_key_is_given_to_every_child_that_has_none() -> None:
    text = (
        """vllm serve m --kv-transfer-config '{"kv_connector": "MultiConnector", """
        """"kv_connector_extra_config": {"connectors": [{"kv_connector": "A"}, """
        """{"kv_connector": "B", "kv_role": "kv_producer"}, {"kv_connector": "C"}]}}'"""
    )
    key = "kv_transfer_config.kv_connector_extra_config.connectors.*.kv_role"
    assert apply(command(text), {key: "kv_both"}).text == (
        text.replace('"A"', '"A", "kv_role": "kv_both"').replace('"C"', '"C", "kv_role": "kv_both"')
    )
    with pytest.raises(InputError):
        apply(command("vllm serve m"), {key: "kv_both"})


def test_json_on_several_lines_stays_on_several_lines() -> None:
    before = command('vllm serve m --kv-transfer-config \'{\n  "kv_role": "kv_both"\n}\'')
    after = apply(before, {"kv_transfer_config.kv_port": "7"})
    assert after.text.endswith('\'{\n  "kv_role": "kv_both",\n  "kv_port": 7\n}\'')


def test_a_configuration_that_cannot_be_read_is_not_guessed() -> None:
    with pytest.raises(InputError) as caught:
        apply(command("vllm serve m --kv-transfer-config $(cat c.json)"),
              {"kv_transfer_config.kv_role": "kv_both"})  # fmt: skip
    assert "JSON" in caught.value.problem
    with pytest.raises(InputError):
        apply(command("vllm serve m"), {"not a key": "1"})


def test_the_difference_shows_one_argument_per_line() -> None:
    before = command(LONG)
    after = apply(before, {"--tensor-parallel-size": "4"}, ["--enforce-eager"])
    assert difference(before, after) == (
        (" ", "VLLM_NIXL_SIDE_CHANNEL_PORT=5600"),
        (" ", "CUDA_VISIBLE_DEVICES=0,1"),
        (" ", "vllm serve meta/llama"),
        ("-", "--tensor-parallel-size 2"),
        ("+", "--tensor-parallel-size 4"),
        (" ", '--kv-transfer-config \'{"kv_connector":"NixlConnector","kv_role":"kv_producer"}\''),
        (" ", "--max-model-len 8k"),
        ("-", "--enforce-eager"),
    )
    container = command("docker run --rm -e VLLM_A=1 vllm/vllm-openai:v1 --model m")
    assert lines_of(container) == ("-e VLLM_A=1", "docker run --rm vllm/vllm-openai:v1",
                                   "--model m")  # fmt: skip


OPTIONS = st.sampled_from(
    ["-tp 2", "--block-size=16", "--enforce-eager", "--no-enable-prefix-caching",
     "--max-model-len 8192", "--served-model-name 'a b' c", "--dtype auto",
     """--kv-transfer-config '{"kv_connector": "X", "kv_role": "kv_both"}'"""]
)  # fmt: skip
JOINTS = st.sampled_from([" ", " \\\n  ", " \\\n", "  "])


@given(
    st.lists(st.tuples(JOINTS, OPTIONS), max_size=6), st.sampled_from(["", "A=1 ", "A=1 B='x y' "])
)
@settings(max_examples=80, deadline=None)
def test_whatever_the_layout_a_change_is_read_back_and_nothing_else_changes(
    parts: list[tuple[str, str]], env: str
) -> None:
    before = command(env + "vllm serve m" + "".join(joint + option for joint, option in parts))
    after = apply(before, {"--data-parallel-size": "3", "VLLM_NEW": "x y", "--block-size": "7"})
    old, new = _first(before), _first(after)
    assert new == {**old, "data_parallel_size": 3, "VLLM_NEW": "x y", "block_size": 7}
    restored = remove_flag(remove_flag(after, "--data-parallel-size"), "--block-size")
    assert _first(restored) == {
        name: value for name, value in {**old, "VLLM_NEW": "x y"}.items() if name != "block_size"
    }
    assert shlex.split(after.text.replace("\\\n", " "))  # a shell can read it


def _first(found: Command) -> dict[str, Scalar]:
    result: dict[str, Scalar] = {}
    for name, value, _ in values_of(found):
        result.setdefault(name, value)
    return result


@given(st.text(max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_value_survives_being_set(value: str) -> None:
    value = "".join(char for char in value if char.isprintable()).strip()
    after = set_flag(command("vllm serve m -tp 2"), "--served-model-name", value or "x")
    words = shlex.split(after.text)
    assert words[:5] == ["vllm", "serve", "m", "-tp", "2"]
    assert words[5:] == ["--served-model-name", value or "x"]
    assert shlex.split(set_env(after, "VLLM_X", value).text)[0] == f"VLLM_X={value}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("vllm serve old --port 1", "vllm serve new --port 1"),
        ("X=1 vllm serve 'an old' \\\n  --port 1", "X=1 vllm serve new \\\n  --port 1"),
        ("vllm serve --port 1 old", "vllm serve --port 1 new"),
        ("vllm serve --model old --port 1", "vllm serve --model new --port 1"),
        ("vllm serve --model=old --port 1", "vllm serve --model=new --port 1"),
        ("vllm serve old --model older --port 1", "vllm serve new --port 1"),
        ("vllm serve --port 1", "vllm serve new --port 1"),
        ("python -m vllm.entrypoints.openai.api_server --model old --port 1",
         "python -m vllm.entrypoints.openai.api_server --model new --port 1"),
        ("python3 -m vllm.entrypoints.openai.api_server --port 1",
         "python3 -m vllm.entrypoints.openai.api_server --port 1 --model new"),
        ("docker run --rm vllm/vllm-openai:v1 --model old",
         "docker run --rm vllm/vllm-openai:v1 --model new"),
        ("docker run --rm vllm/vllm-openai:v1 old --port 1",
         "docker run --rm vllm/vllm-openai:v1 new --port 1"),
    ],
)  # fmt: skip
def test_a_model_is_changed_where_vllm_reads_it(before: str, after: str) -> None:
    changed = apply(command(before), {"--model": "new"})
    assert changed.text == after
    assert stated(changed.text)["model"] == "new"


def test_a_positional_model_of_a_manifest_is_changed_in_its_place() -> None:
    text = 'args:\n  - "vllm"\n  - "serve"\n  - "old"\n  - "--port"\n  - "1"'
    before = parse_command(text, FLAGS, style="list")
    assert apply(before, {"--model": "new"}).text == text.replace("old", "new")
    bare = parse_command(
        'args:\n  - "vllm"\n  - "serve"\n  - "--port"\n  - "1"', FLAGS, style="list"
    )
    assert apply(bare, {"--model": "new"}).text == text.replace("old", "new")


def test_a_module_takes_no_model_from_a_positional_word() -> None:
    text = "python -m vllm.entrypoints.openai.api_server word --port 1"
    assert "model" not in stated(text)
    assert apply(command(text), {"--model": "new"}).text == f"{text} --model new"


def test_an_argument_list_of_a_manifest_is_changed_as_yaml() -> None:
    import yaml

    text = 'args:\n  - "--model"\n  - "m"\n  - "--tensor-parallel-size"\n  - "2"'
    before = parse_command(text, FLAGS, style="list")
    after = apply(
        before,
        {"--tensor-parallel-size": "4", "kv_transfer_config.kv_role": "kv_both", "VLLM_X": "1"},
    )
    assert yaml.safe_load(after.text) == {
        "env": [{"name": "VLLM_X", "value": "1"}],
        "args": ["--model", "m", "--tensor-parallel-size", "4", "--kv-transfer-config",
                 '{"kv_role": "kv_both"}'],
    }  # fmt: skip
    again = apply(after, {"VLLM_X": "2"}, ["--tensor-parallel-size"])
    assert yaml.safe_load(again.text)["env"] == [{"name": "VLLM_X", "value": "2"}]
    assert "--tensor-parallel-size" not in again.text
    assert apply(again, {}, ["VLLM_X"]).env == ()
