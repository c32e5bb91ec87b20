"""Pods as the API describes them: which container runs vLLM, which side they are, their peers.

What the API returns is somebody else's text: every part is checked before it is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kvdoctor.data import dataclass
from kvdoctor.errors import InputError
from kvdoctor.kubectl.calls import container_name, pod_name
from kvdoctor.values.sides import side_in_name

_SERVER = ("vllm",)  # what the image, command or name of the wanted container holds
_DEFAULT = "kubectl.kubernetes.io/default-container"
# Labels that controllers give to one pod or one revision: nobody else shares them.
_OWN = (
    "pod-template-hash", "controller-revision-hash", "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index",
    "leaderworkerset.sigs.k8s.io/group-index", "leaderworkerset.sigs.k8s.io/worker-index",
    "leaderworkerset.sigs.k8s.io/group-key", "leaderworkerset.sigs.k8s.io/template-revision-hash",
    "pod-template-generation", "controller-uid", "batch.kubernetes.io/controller-uid",
)  # fmt: skip
_SIDES = {"producer": "prefill", "consumer": "decode"}


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod. ``side``: prefill, decode or "" when names and labels do not tell. ``restarted``:
    there is a log before the last restart. ``troubled``: not ready, or restarted."""

    name: str
    labels: Mapping[str, str]
    containers: tuple[str, ...]
    container: str
    side: str
    restarted: bool
    troubled: bool
    manifest: str


def read_pods(data: bytes, container: str = "") -> list[Pod]:
    """The pods of ``kubectl get pod(s) -o json``, each with its wanted container. Raises InputError
    when the answer is no list of pods, or a pod lacks the container."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError(
            "kubectl printed no JSON", remedy="check kubectl get pods -o json"
        ) from None
    items = found.get("items", [found]) if isinstance(found, dict) else []
    pods = [one for one in items if isinstance(one, dict) and one.get("spec")]
    return [_pod(one, container) for one in pods]


def _pod(raw: dict[str, Any], wanted: str) -> Pod:
    metadata, spec, status = (_mapping(raw.get(key)) for key in ("metadata", "spec", "status"))
    name = pod_name(str(metadata.get("name", "")))
    labels = {str(key): str(value) for key, value in _mapping(metadata.get("labels")).items()}
    listed = [one for key in ("containers", "initContainers") for one in _mappings(spec.get(key))]
    names = tuple(container_name(str(one.get("name", ""))) for one in listed)
    if wanted and wanted not in names:
        raise InputError(
            f"pod {name} has no container {wanted}", remedy=f"it has {', '.join(names)}"
        )
    annotated = str(_mapping(metadata.get("annotations")).get(_DEFAULT, ""))
    container = wanted or _main(listed, names, annotated)
    state = next(
        (
            one
            for key in ("containerStatuses", "initContainerStatuses")
            for one in _mappings(status.get(key))
            if one.get("name") == container
        ),
        {},
    )
    restarted = bool(state.get("restartCount")) and "terminated" in _mapping(state.get("lastState"))
    return Pod(
        name, labels, names, container, _side(name, labels, container), restarted,
        restarted or not state.get("ready", False), json.dumps(_shown(raw), indent=1),
    )  # fmt: skip


def _main(listed: Sequence[Mapping[str, Any]], names: Sequence[str], annotated: str) -> str:
    """The container whose log is wanted: the one that runs vLLM, else the annotated or first."""
    for keys in (("image",), ("command", "args"), ("name",)):
        for one, name in zip(listed, names, strict=True):
            text = json.dumps([one.get(key) for key in keys]).lower()
            if any(word in text for word in _SERVER):
                return name
    return annotated if annotated in names else (names[0] if names else "")


def _side(name: str, labels: Mapping[str, str], container: str) -> str:
    """What labels, then the names of pod and container tell; "" when labels disagree."""
    told = {side for value in labels.values() if (side := _side_of_word(value))}
    if told:
        return told.pop() if len(told) == 1 else ""
    return side_in_name(name) or side_in_name(container)


def _side_of_word(value: str) -> str:
    plain = value.lower().replace("_", "-").split("-")
    found = {_SIDES[one] for one in plain if one in _SIDES}
    return side_in_name(value) or (found.pop() if len(found) == 1 else "")


def shared_labels(pod: Pod) -> str:
    """A selector of the labels that pods of the same deployment share with this one, whatever their
    side; "" when there are none."""
    return ",".join(
        f"{key}={value}"
        for key, value in sorted(pod.labels.items())
        if key not in _OWN and value and not _side_of_word(value) and pod.name not in value
    )


def in_order(pod: Pod, others: Iterable[Pod]) -> list[Pod]:
    """Peers in the order in which they are worth reading: the other side first, then those that
    are in trouble, then by name."""
    peers = {one.name: one for one in others if one.name != pod.name}
    return sorted(
        peers.values(), key=lambda one: (one.side == pod.side != "", not one.troubled, one.name)
    )


def _shown(raw: dict[str, Any]) -> dict[str, Any]:
    """The manifest as somebody would paste it: without what the server keeps for itself."""
    wanted = ("apiVersion", "kind", "metadata", "spec")
    kept: dict[str, Any] = {key: raw[key] for key in wanted if key in raw}
    metadata = {**_mapping(kept.get("metadata"))}
    metadata.pop("managedFields", None)
    metadata["annotations"] = {
        key: value
        for key, value in _mapping(metadata.get("annotations")).items()
        if "last-applied-configuration" not in key
    }
    return {**kept, "kind": kept.get("kind", "Pod"), "metadata": metadata}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
