"""`prove` and the callers, without a vLLM: a stand-in package plays the user's build."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import random
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kvdoctor.expression import UNKNOWN, parse
from kvdoctor.load import load
from kvdoctor.proof.ask import CALLERS, RUNNER, ask, caller_ids
from kvdoctor.proof.interpreter import find_python, python_of_script
from kvdoctor.proof.prove import OUTCOMES, ProofRun, prove
from kvdoctor.proof.results import compared, results_file
from kvdoctor.record import Guard, Identify, Record
from kvdoctor.releases import contains

ORACLE = Path(__file__).resolve().parent / "oracle"
sys.path.insert(0, str(ORACLE))

import grid  # noqa: E402

RELEASES = ("0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0", "0.33.0")
RECORD = "moriio-heterogeneous-tp-kv-heads"
BEFORE = {"local_tp_size": 8, "remote_tp_size": 4, "total_num_kv_heads": 8, "is_mla": False}
ROWS = 600  # of each grid; tests/oracle takes all of them
AFTER = {**BEFORE, "local_tp_size": 4}
CONNECTOR = "vllm/distributed/kv_transfer/kv_connector/v1/moriio/moriio_connector.py"
GUARD = """
def validate_moriio_heterogeneous_tp_kv_heads(local, remote, heads, is_mla):
    if is_mla or local == remote or min(local, remote) >= heads:
        return
    raise NotImplementedError(
        "MoRIIO heterogeneous TP requires replicated KV heads on both prefill and decode. "
        f"Got total_num_kv_heads={heads}, local_tp_size={local}, remote_tp_size={remote}."
    )
"""


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    return dict(load(use_cache=False, private=False).records)


@pytest.fixture
def record(records: dict[str, Record]) -> Record:
    """The record with the one guard that the stand-in package has."""
    call = "moriio-hetero-tp-heads"
    return replace(records[RECORD], guards=(Guard("is_mla", vllm=">=0.25.1", call=call),))


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A folder with a package named vllm."""
    package = tmp_path / "build"
    file = package / CONNECTOR
    file.parent.mkdir(parents=True)
    for folder in [file.parent, *file.parent.parents]:
        if package not in folder.parents:
            break
        (folder / "__init__.py").touch()
    (package / "vllm" / "config.py").touch()
    (package / "vllm" / "__init__.py").write_text('__version__ = "0.32.0"\n', encoding="utf-8")
    file.write_text(GUARD, encoding="utf-8")
    return package


def run(record: Record, build: Path, after: dict[str, Any] | None = None, **more: Any) -> ProofRun:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(build)}
    settings = {"python": sys.executable, "environment": env, "seconds": 60.0, **more}
    return prove(record, BEFORE, AFTER if after is None else after, **settings)


def test_a_fix_that_the_real_function_accepts_is_proven(record: Record, build: Path) -> None:
    found = run(record, build)
    assert (found.outcome, found.vllm) == ("proven", "0.32.0")
    assert [one.kind for one in (*found.before, *found.after)] == ["raised", "accepted"]
    assert found.proven


def test_a_fix_that_still_raises_is_not_proven(record: Record, build: Path) -> None:
    found = run(record, build, {**BEFORE, "local_tp_size": 2})
    assert found.outcome == "still-raised"
    assert "local_tp_size=2" in found.after[0].message


def test_values_that_this_build_accepts_prove_nothing(record: Record, build: Path) -> None:
    (build / CONNECTOR).write_text(
        "def validate_moriio_heterogeneous_tp_kv_heads(*values): pass\n", encoding="utf-8"
    )
    assert run(record, build).outcome == "accepted-before"


def test_another_error_after_the_fix_is_told_and_not_counted_as_accepted(
    record: Record, build: Path
) -> None:
    text = GUARD.replace("        return\n", "        raise ValueError('something else')\n")
    (build / CONNECTOR).write_text(text, encoding="utf-8")
    found = run(record, build)
    assert found.outcome == "other-error"
    assert "something else" in found.says


def test_a_function_that_is_gone_is_said_to_be_gone(record: Record, build: Path) -> None:
    (build / CONNECTOR).write_text("", encoding="utf-8")
    assert run(record, build).outcome == "gone"


def test_a_build_outside_the_guards_range_is_not_judged_by_it(record: Record, build: Path) -> None:
    (build / "vllm" / "__init__.py").write_text('__version__ = "0.24.0"\n', encoding="utf-8")
    assert run(record, build).outcome == "gone"


def test_a_missing_value_is_named(record: Record, build: Path) -> None:
    short = {name: value for name, value in AFTER.items() if name != "is_mla"}
    found = run(record, build, short)
    assert found.outcome == "no-value"
    assert "is_mla" in found.says


def test_unknown_values_count_as_missing(record: Record, build: Path) -> None:
    assert run(record, build, {**AFTER, "is_mla": UNKNOWN}).outcome == "no-value"


def test_values_reach_the_caller_under_the_names_that_with_gives(
    record: Record, build: Path
) -> None:
    (guard,) = record.guards
    swapped = {"local_tp_size": "remote_tp_size", "remote_tp_size": "local_tp_size"}
    found = run(replace(record, guards=(replace(guard, arguments=swapped),)), build)
    assert "local_tp_size=4, remote_tp_size=8" in found.before[0].message


def test_a_package_that_does_not_import_is_told_with_its_reason(
    record: Record, build: Path
) -> None:
    (build / "vllm" / "__init__.py").write_text("import no_such_library\n", encoding="utf-8")
    found = run(record, build)
    assert found.outcome == "no-import"
    assert "no_such_library" in found.says


def test_a_build_that_hangs_is_ended_with_everything_it_started(
    record: Record, build: Path, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    (build / "vllm" / "__init__.py").write_text(
        "import os, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '300'])\n"
        f"open({str(note)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(300)\n",
        encoding="utf-8",
    )
    assert run(record, build, seconds=5.0).outcome == "timeout"
    pid = int(note.read_text(encoding="utf-8"))
    status = Path(f"/proc/{pid}/stat")
    assert not status.exists() or status.read_text(encoding="utf-8").split()[2] == "Z"


def test_noise_on_stdout_does_not_damage_the_answers(record: Record, build: Path) -> None:
    (build / "vllm" / "__init__.py").write_text(
        "import os\n__version__ = '0.32.0'\nprint('{\"noise\": 1}')\nos.system('echo more')\n",
        encoding="utf-8",
    )
    assert run(record, build).outcome == "proven"


def test_a_process_that_dies_half_way_is_no_proof(record: Record, build: Path) -> None:
    (build / CONNECTOR).write_text("import os\nos._exit(3)\n", encoding="utf-8")
    found = run(record, build)
    assert not found.proven
    assert found.outcome == "no-import"


def test_a_folder_named_vllm_where_the_user_stands_is_not_imported(
    record: Record, build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").write_text("raise SystemExit(1)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run(record, build).outcome == "proven"


def test_a_bare_assert_is_known_by_its_source_line(record: Record, build: Path) -> None:
    text = (
        "def validate_moriio_heterogeneous_tp_kv_heads(local, remote, heads, is_mla):\n"
        "    assert not (\n        local != remote and heads > 1\n    )\n"
    )
    (build / CONNECTOR).write_text(text, encoding="utf-8")
    bare = Identify(frame="x.py:f", code="assert not (", exception="AssertionError")
    found = run(replace(record, identify=(bare,)), build)
    assert found.outcome == "proven"


def test_no_python_means_no_vllm(record: Record, tmp_path: Path) -> None:
    found = prove(record, BEFORE, AFTER, environment={"PATH": str(tmp_path)})
    assert found.outcome == "no-vllm"


def test_a_record_without_a_caller_says_so(record: Record) -> None:
    assert prove(replace(record, guards=(Guard("True"),)), BEFORE, AFTER).outcome == "no-caller"


def test_every_outcome_is_a_sentence() -> None:
    for text in OUTCOMES.values():
        assert text.format(vllm="0.32.0", detail="why").endswith((".", "why"))


# ------------------------------------------------------------------ finding the interpreter


def script(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_interpreter_is_that_of_the_vllm_command(tmp_path: Path) -> None:
    python = script(tmp_path / "venv" / "bin" / "python3.11", "#!/bin/sh")
    script(tmp_path / "bin" / "vllm", f"#!{python}", "import sys")
    found = find_python(environment={"PATH": str(tmp_path / "bin")})
    assert found.path == str(python)
    assert "vllm" in found.how


def test_a_script_that_starts_through_the_shell_is_understood(tmp_path: Path) -> None:
    python = script(tmp_path / "a b" / "python", "#!/bin/sh")
    made = script(tmp_path / "vllm", "#!/bin/sh", f'\'\'\'exec\' "{python}" "$0" "$@"', "' '''")
    assert python_of_script(made) == str(python)


def test_a_script_that_starts_through_env_is_understood(tmp_path: Path) -> None:
    made = script(tmp_path / "vllm", "#!/usr/bin/env -S python3 -u")
    assert Path(python_of_script(made)).name == "python3"


def test_the_active_environment_is_used_when_there_is_no_command(tmp_path: Path) -> None:
    python = script(tmp_path / "venv" / "bin" / "python", "#!/bin/sh")
    env = {"PATH": str(tmp_path / "empty"), "VIRTUAL_ENV": str(tmp_path / "venv")}
    assert find_python(environment=env).path == str(python)


def test_a_given_environment_or_interpreter_comes_first(tmp_path: Path) -> None:
    python = script(tmp_path / "venv" / "bin" / "python", "#!/bin/sh")
    assert find_python(str(tmp_path / "venv")).path == str(python)
    assert find_python(str(python)).path == str(python)
    assert find_python(str(tmp_path / "nothing")).path == ""


def test_a_path_from_where_the_user_stands_holds_elsewhere_and_keeps_its_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    for given in (".venv/bin/python", ".venv"):
        assert find_python(given).path == str(python)
    assert ask(find_python(".venv/bin/python").path, [], seconds=30).failure != "start"


# ------------------------------------------------------------------ callers, reference, records


def test_the_runner_and_the_source_agree_about_the_callers(build: Path) -> None:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(build)}
    calls = [{"id": call, "names": [], "rows": []} for call in sorted(caller_ids())]
    reply = ask(sys.executable, calls, seconds=60, environment=env)
    assert not reply.failure
    assert len(reply.answers) == len(calls) > 100
    unknown = ask(
        sys.executable, [{"id": "no-such", "names": [], "rows": [{}], "given": True}],
        seconds=60, environment=env,
    )  # fmt: skip
    assert unknown.answers[0] == []


def test_callers_do_not_import_vllm_or_kvdoctor_at_the_top() -> None:
    for file in [RUNNER, *CALLERS.glob("*.py")]:
        for line in file.read_text(encoding="utf-8").splitlines():
            assert not line.startswith(("import vllm", "from vllm", "import kvdoctor"))
            assert not line.startswith("from kvdoctor")


def test_every_caller_has_a_grid_and_every_grid_a_caller() -> None:
    assert set(grid.references()) == caller_ids()


@pytest.mark.parametrize("call", sorted(grid.references()))
def test_each_reference_is_decided_everywhere_and_both_ways(call: str) -> None:
    reference = grid.references()[call]
    rows = reference.rows()
    if reference.numeric:
        assert len(rows) >= 1000
    for _, accepts in reference.guards:
        expression = parse(accepts, reference.types)
        verdicts = {
            expression.evaluate(dict(zip(reference.columns, row, strict=True))) for row in rows
        }
        assert verdicts == {True, False}


def guards(records: dict[str, Record]) -> Iterator[tuple[Record, Guard]]:
    for one in records.values():
        for guard in one.guards:
            if guard.call:
                yield one, guard


def test_every_record_names_callers_that_exist(records: dict[str, Record]) -> None:
    named = {guard.call for _, guard in guards(records)}
    assert named
    assert named <= caller_ids()


def test_every_record_gives_its_caller_all_that_it_needs(records: dict[str, Record]) -> None:
    importlib.import_module("kvdoctor.proof.callers.registry")
    for file in CALLERS.glob("[a-z]*.py"):
        importlib.import_module(f"kvdoctor.proof.callers.{file.stem}")
    callers = sys.modules["kvdoctor.proof.callers.registry"].CALLERS
    for record, guard in guards(records):
        parameters = inspect.signature(callers[guard.call]).parameters
        needed = {name for name, one in parameters.items() if one.default is one.empty}
        given = set(grid.subject(record, guard, RELEASES[-1]).names)
        assert needed <= given <= set(parameters), f"{record.id}: {guard.call}"


def test_the_records_say_what_the_compared_reference_says(records: dict[str, Record]) -> None:
    """Holds without a vLLM too: the reference itself was compared with the real functions."""
    wrong = [
        f"{record.id}, {guard.call}, {release}: {found}"
        for record, guard in guards(records)
        for release in distinct(record, guard)
        for found in difference(record, guard, release)
    ]
    assert not wrong


def distinct(record: Record, guard: Guard) -> list[str]:
    """One release for each wording of the reference, every one when the record asks for it."""
    inside = [release for release in RELEASES if contains(guard.vllm, release)]
    texts = [guard.accepts, *guard.arguments.values(), *(one.expression for one in record.derive)]
    if any("vllm_release" in text for text in texts):
        return inside
    reference = grid.references()[guard.call]
    return list({reference.accepts(release): release for release in inside}.values())


def difference(record: Record, guard: Guard, release: str) -> Iterator[str]:
    reference = grid.references()[guard.call]
    accepts = reference.accepts(release)
    if not accepts:
        yield "the guard is not in that release"
        return
    expression = parse(accepts, reference.types)
    subject = grid.subject(record, guard, release)
    pairs = list(zip(subject.rows, subject.verdicts(), strict=True))
    chance = random.Random(guard.call)  # noqa: S311 (repeatable, no secret)
    for row, verdict in chance.sample(pairs, min(ROWS, len(pairs))):
        real = expression.evaluate(dict(zip(subject.names, row, strict=True)))
        if real is not UNKNOWN and real is not verdict:
            yield f"{dict(zip(subject.names, row, strict=True))}: {verdict} instead of {real}"
            return


# ------------------------------------------------------------------ recorded results


def test_the_recorded_comparison_covers_every_caller_and_release() -> None:
    for call, reference in grid.references().items():
        found = {one.vllm: one for one in compared(call)}
        expected = {release for release in RELEASES if reference.accepts(release)}
        assert expected <= set(found), call
        for release in expected:
            one = found[release]
            assert one.mismatches == 0
            assert 0 < one.raised < one.combinations
        assert set(found) - expected <= {r for r in found if reference.accepts(r)}


def test_the_results_file_is_where_the_knowledge_lies() -> None:
    tree = json.loads(Path(results_file()).read_text(encoding="utf-8"))
    assert len(tree["guards"]) == len(grid.references())
    assert compared("no-such-guard") == ()


def test_the_comparison_says_when_it_is_skipped() -> None:
    env = {**os.environ, "KVDOCTOR_ORACLE": "no"}
    done = subprocess.run(
        ["bash", str(ORACLE / "run")], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "SKIPPED" in done.stdout


def test_a_stop_ends_the_other_process(tmp_path: Path) -> None:
    """An interpreter that never answers is ended when nobody waits for it any more."""
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\necho $$ > " + str(tmp_path / "pid") + "\nexec sleep 600\n")
    slow.chmod(0o755)
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()
    begun = time.monotonic()
    reply = ask(str(slow), [], seconds=60, stop=stop)
    assert reply.failure == "stopped"
    assert time.monotonic() - begun < 20
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_child_that_prints_without_end_is_ended_and_little_of_it_is_kept(tmp_path: Path) -> None:
    import resource

    noisy = tmp_path / "python"
    noisy.write_text("#!/bin/sh\nexec yes kvdoctor\n")
    noisy.chmod(0o755)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reply = ask(str(noisy), [], seconds=20)
    assert (reply.failure, reply.detail[:12]) == ("broken-off", "it printed m")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 100_000, "KiB"
    noisy.write_text("#!/bin/sh\nexec yes kvdoctor >&2\n")
    assert ask(str(noisy), [], seconds=1).failure == "timeout"
