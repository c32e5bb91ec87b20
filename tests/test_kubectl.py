"""``kubectl kvdoctor`` against a kubectl that is a script: it answers from files, and writes down
with which arguments it was called."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kvdoctor.kubectl import main
from kvdoctor.kubectl.pods import in_order, read_pods, shared_labels

CASE = Path(__file__).with_name("cases") / "061-nixl-blocksize-d-smaller"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stub is a POSIX script")
STUB = """\
#!{python}
import json, os, sys, time
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "calls"), "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
words = [one for one in sys.argv[1:] if not one.startswith("--")]
flags = dict(one.partition("=")[::2] for one in sys.argv[1:] if one.startswith("--"))
with open(os.path.join(here, "cluster.json")) as stream:
    cluster = json.load(stream)
if cluster.get("sleep"):
    os.system("sleep 30")  # a helper of its own, which holds the output open
if cluster.get("fail") and words[0] in cluster["fail"]:
    sys.exit(cluster["fail"][words[0]])
pods = {{one["metadata"]["name"]: one for one in cluster["pods"]}}
if words[:2] == ["get", "pod"]:
    if words[2] not in pods:
        sys.exit(f'Error from server (NotFound): pods "{{words[2]}}" not found')
    print(json.dumps(pods[words[2]]))
elif words[:2] == ["get", "pods"]:
    wanted = dict(one.split("=") for one in flags["--selector"].split(","))
    items = [one for one in pods.values() if wanted.items() <= one["metadata"]["labels"].items()]
    print(json.dumps({{"kind": "List", "items": items}}))
else:
    key = words[1] + ("/previous" if "--previous" in flags else "")
    sys.stdout.write(cluster["logs"].get(key, ""))
"""


def pod(name: str, side: str, *, restarts: int = 0, **more: Any) -> dict[str, Any]:
    """A pod as the API gives it, with a proxy beside vLLM."""
    status = {"name": "server", "ready": restarts == 0, "restartCount": restarts}
    if restarts:
        status["lastState"] = {"terminated": {"exitCode": 1}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"app": "tiny", "llm-d.ai/role": side, "pod-template-hash": name[-3:]},
            "managedFields": [{"manager": "kubelet"}],
        },
        "spec": {
            "containers": [
                {"name": "proxy", "image": "envoy"},
                {"name": "server", "image": "vllm/vllm-openai:v0.32.0", "args": ["--model", "m"]},
            ]
        },
        "status": {"containerStatuses": [{"name": "proxy"}, status]},
        **more,
    }


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.content: dict[str, Any] = {
            "pods": [pod("decode-0", "decode"), pod("prefill-0", "prefill")],
            "logs": {
                "decode-0": (CASE / "decode.log").read_text("utf-8"),
                "prefill-0": (CASE / "prefill.log").read_text("utf-8"),
            },
        }
        stub = folder / "kubectl"
        stub.write_text(STUB.format(python=sys.executable))
        stub.chmod(0o755)

    def run(self, *words: str) -> int:
        (self.folder / "cluster.json").write_text(json.dumps(self.content))
        return main([*words])

    @property
    def calls(self) -> list[list[str]]:
        file = self.folder / "calls"
        return [json.loads(one) for one in file.read_text().splitlines()] if file.exists() else []

    def logs_of(self) -> list[str]:
        """Pods whose logs were read."""
        return sorted(one[-1] for one in self.calls if "logs" in one)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("KVDOCTOR_CONFIG", raising=False)
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return Cluster(folder)


def test_a_pod_and_its_peer_are_read_and_diagnosed(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cluster.run("decode-0", "-n", "serving", "--context", "my cluster", "--json") == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert found["findings"][0]["record"] == "nixl-block-size-not-multiple"
    assert found["fixes"][0]["snippet"] == "--block-size 128"
    assert cluster.logs_of() == ["decode-0", "prefill-0"]
    for one in cluster.calls:
        assert one[:2] == ["--namespace=serving", "--context=my cluster"]
    logs = next(one for one in cluster.calls if "logs" in one)
    assert logs[-3:-1] == ["--container=server", "--"]
    assert "prefill-0 (server, prefill)" in told.err


def test_the_sides_are_those_of_the_labels(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    for index, name in enumerate(("a-1", "b-2")):
        cluster.content["pods"][index]["metadata"]["name"] = name
    logs = cluster.content["logs"]
    logs |= {"a-1": logs["decode-0"], "b-2": logs["prefill-0"]}
    assert cluster.run("pod/a-1", "--json") == 0
    values = json.loads(capsys.readouterr().out)["values"]
    assert values["decode.block_size"]["value"] == 32
    assert values["prefill.block_size"]["value"] == 128


def test_the_side_is_told_by_the_arguments_where_labels_tell_none(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    one = pod("a-1", "none")
    transfer = {"kv_connector": "MooncakeConnector", "kv_role": "kv_consumer"}
    one["spec"]["containers"][1]["command"] = ["vllm", "serve", "m"]
    one["spec"]["containers"][1]["args"] = ["--kv-transfer-config", json.dumps(transfer)]
    cluster.content["pods"] = [one]
    cluster.content["logs"]["a-1"] = cluster.content["logs"]["decode-0"]
    cluster.run("a-1", "--diagnose", "--no-peers")
    assert "a-1 (server, decode)" in capsys.readouterr().err


def test_the_log_before_a_restart_is_read_too(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.content["pods"][0] = pod("decode-0", "decode", restarts=3)
    logs = cluster.content["logs"]
    logs["decode-0/previous"], logs["decode-0"] = logs["decode-0"], "INFO starting again\n"
    assert cluster.run("decode-0", "--json", "--no-peers") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["findings"][0]["evidence"][0]["source"] == "decode-0.previous.log"


def test_only_the_previous_log_when_that_is_wanted(cluster: Cluster) -> None:
    cluster.content["logs"]["decode-0/previous"] = cluster.content["logs"]["decode-0"]
    assert cluster.run("decode-0", "--previous", "--no-peers", "--diagnose") == 0
    assert all("--previous" in one for one in cluster.calls if "logs" in one)


def test_peers_are_named_or_selected(cluster: Cluster) -> None:
    cluster.content["pods"].append(pod("other-9", "prefill"))
    cluster.run("decode-0", "--peer", "other-9", "--diagnose")
    assert cluster.logs_of() == ["decode-0", "other-9"]
    (cluster.folder / "calls").unlink()
    cluster.run("decode-0", "-l", "app=tiny", "--diagnose", "--most", "2")
    assert len(cluster.logs_of()) == 2
    (cluster.folder / "calls").unlink()
    cluster.run("-l", "app=tiny", "--diagnose")
    assert cluster.logs_of() == ["decode-0", "other-9", "prefill-0"]


def test_pods_that_are_left_out_are_told(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.content["pods"] += [pod(f"decode-{index}", "decode") for index in range(1, 5)]
    cluster.run("decode-0", "--diagnose", "--most", "2")
    assert cluster.logs_of() == ["decode-0", "prefill-0"], "the other side goes first"
    assert "4 more pods are not read" in capsys.readouterr().err


def test_a_peer_that_cannot_be_read_does_not_stop_the_diagnosis(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    del cluster.content["logs"]["prefill-0"]
    assert cluster.run("decode-0", "--diagnose") == 0
    assert cluster.run("decode-0", "--diagnose", "--peer", "gone-0") == 2
    assert 'pods "gone-0" not found' in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("--help-me",), ("-x",), ("de code",), ("decode-0;id",), ("$(id)",), ("../decode",),
        ("Decode",), ("decode-",), ("x" * 254,), ("decode\n0",), ("\x1b[31m",), ("pod/",),
        ("decode-0", "-n", "a b"), ("decode-0", "-n", "--all-namespaces"),
        ("decode-0", "-c", "-f"), ("decode-0", "-c", "$(id)"), ("decode-0", "--peer=-f"),
        ("decode-0", "-l", "a=$(id)"), ("decode-0", "-l", "--all"),
        ("decode-0", "--since", "1 day"),
        ("decode-0", "--timeout", "0"), ("decode-0", "--most", "0"), (),
    ],
)  # fmt: skip
def test_hostile_names_never_reach_kubectl(
    cluster: Cluster, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = cluster.run(*words, "--diagnose")
    except SystemExit as stopped:  # argparse refuses what looks like an option
        status = int(stopped.code or 0)
    told = capsys.readouterr().err
    assert status == 2
    assert "\x1b" not in told
    assert not any("logs" in one for one in cluster.calls)


def test_hostile_names_from_the_cluster_are_refused_too(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.content["pods"][1]["metadata"]["name"] = "--all-namespaces"
    assert cluster.run("decode-0", "--diagnose") == 2
    assert cluster.logs_of() == []
    assert "is no pod" in capsys.readouterr().err


def test_kubectls_own_words_are_passed_on(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cluster.run("gone-0", "--diagnose") == 2
    assert 'Error from server (NotFound): pods "gone-0" not found' in capsys.readouterr().err
    cluster.content["fail"] = {"logs": "Error from server (Forbidden): \x1b[31mno logs for you"}
    assert cluster.run("decode-0", "--diagnose") == 2
    told = capsys.readouterr().err
    assert "Forbidden" in told
    assert "\x1b" not in told


def test_a_kubectl_that_hangs_is_ended_with_its_helpers(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.content["sleep"] = True
    began = time.monotonic()
    assert cluster.run("decode-0", "--diagnose", "--timeout", "1") == 2
    assert time.monotonic() - began < 15
    assert "no answer within 1 s" in capsys.readouterr().err


def test_without_kubectl_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["decode-0", "--diagnose"]) == 2
    assert "kubectl is not on PATH" in capsys.readouterr().err


def test_a_container_that_is_not_there_is_told_with_those_that_are(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cluster.run("decode-0", "-c", "vllm", "--diagnose") == 2
    assert "it has proxy, server" in capsys.readouterr().err


def test_the_screen_is_handed_the_texts_with_their_sides(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    import kvdoctor.ui

    seen: list[Any] = []
    monkeypatch.setattr("kvdoctor.terminal.can_show_a_screen", lambda: True)
    monkeypatch.setattr(kvdoctor.ui, "run_screen", lambda options: seen.append(options) or 0)
    assert cluster.run("decode-0") == 0
    assert [(name, side) for name, side, _ in seen[0].fetched] == [
        ("decode-0.log", "decode"), ("decode-0.json", "decode"),
        ("prefill-0.log", "prefill"), ("prefill-0.json", "prefill"),
    ]  # fmt: skip


def test_labels_that_one_pod_has_alone_select_no_peers() -> None:
    one = read_pods(json.dumps(pod("decode-0", "decode")).encode())[0]
    assert shared_labels(one) == "app=tiny"
    assert (one.container, one.side) == ("server", "decode")
    assert "managedFields" not in one.manifest


def test_the_other_side_and_troubled_pods_are_read_first() -> None:
    made = [
        pod("decode-0", "decode"), pod("decode-1", "decode", restarts=1),
        pod("prefill-0", "prefill"), pod("prefill-1", "prefill", restarts=2),
    ]  # fmt: skip
    first, *others = read_pods(json.dumps({"items": made}).encode())
    names = [one.name for one in in_order(first, others)]
    assert names == ["prefill-1", "prefill-0", "decode-1"]


@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b"[" * 100_000, b"nonsense", b"\xff", b"3"])
def test_an_answer_that_is_no_pod_is_told(
    cluster: Cluster, answer: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (cluster.folder / "answer").write_bytes(answer)
    (cluster.folder / "kubectl").write_text('#!/bin/sh\nexec cat "$(dirname "$0")/answer"\n')
    assert cluster.run("decode-0", "--diagnose") == 2
    assert "Traceback" not in capsys.readouterr().err


def test_what_kubectl_says_to_people_is_told_and_not_its_log() -> None:
    from kvdoctor.kubectl.calls import _told

    record = 'E1201 07:00:0{}.123456    1234 memcache.go:265] "Unhandled Error" err="refused"\n'
    log = "".join(record.format(number) for number in range(5))
    said = "The connection to the server localhost:8080 was refused - right host or port?"
    assert _told(f"{log}{said}\n") == said
    assert _told(log) == '"Unhandled Error" err="refused"'
    assert _told("") == ""
