"""From the plugin's command line to a diagnosis: find the pods, read them, hand them over."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from kvdoctor.command.inputs import tell
from kvdoctor.data import replace
from kvdoctor.errors import InputError
from kvdoctor.kubectl import calls
from kvdoctor.kubectl.arguments import parser
from kvdoctor.kubectl.calls import Kubectl, KubectlError
from kvdoctor.kubectl.pods import Pod, in_order, read_pods, shared_labels

Input = tuple[str, str, bytes]  # name, side, text: as kvdoctor.command.inputs passes them on
AT_ONCE = 4  # calls of kubectl


def run(arguments: Sequence[str]) -> int:
    """Read the pods and diagnose them. Returns the exit status of ``kvdoctor diagnose``."""
    options = parser().parse_args(arguments)
    fetched = fetch(options)
    from kvdoctor.cli import handle

    options.command = "diagnose" if options.diagnose or options.json or options.note else "screen"
    options.files, options.decode, options.prefill = [], [], []
    options.fetched = fetched
    options.copy = options.record = options.symptom = None
    options.save = False
    return handle(options)


def fetch(options: argparse.Namespace) -> list[Input]:
    """Logs and manifests of the pods that the options name. Raises InputError and KubectlError."""
    kubectl = Kubectl(
        calls.find_kubectl(),
        calls.where(options.namespace, options.context, options.kubeconfig),
        _positive(options.timeout, "--timeout"),
    )
    _positive(options.most, "--most")
    flags = _log_flags(options)
    pods = _sides(_pods(kubectl, options))
    for one in pods:
        tell(
            f"reading {one.name} ({one.container or 'no container'}, {one.side or 'side unknown'})"
        )
    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = pool.map(lambda one: _logs(kubectl, one, flags, options.previous), pods)
        inputs: list[Input] = []
        for one, (logs, troubles) in zip(pods, done, strict=True):
            for trouble in troubles:
                tell(trouble)
            texts = [*logs, (f"{one.name}.json", one.manifest.encode())]
            inputs += [(name, one.side or "this", data) for name, data in texts]
    if not any(name.endswith(".log") for name, _, _ in inputs):
        raise InputError(
            f"no log of {', '.join(one.name for one in pods)}",
            remedy="nothing was printed yet; --previous has the log of a restart",
        )
    return inputs


def _positive(number: int, flag: str) -> int:
    if number < 1:
        raise InputError(f"{flag} {number}: must be 1 or more")
    return number


def _log_flags(options: argparse.Namespace) -> list[str]:
    flags = [f"--tail={options.tail}"] if options.tail >= 0 else []
    return flags + ([f"--since={calls.since(options.since)}"] if options.since else [])


# -- which pods ---------------------------------------------------------------------------------


def _pods(kubectl: Kubectl, options: argparse.Namespace) -> list[Pod]:
    """The named pod first, then its peers, at most ``--most``."""
    container = calls.container_name(options.container) if options.container else ""
    names = [calls.pod_name(one) for one in options.peer]
    if not options.pod:
        if not options.selector:
            raise InputError("which pod?", remedy="name a POD, or pods by labels: -l app=vllm")
        found = _listed(kubectl, options.selector, container)
        if not found:
            raise InputError(f"no pods have the labels {options.selector}")
        found.sort(key=lambda one: (not one.troubled, one.name))
        return _at_most(found, options.most)
    pod = _one(kubectl, calls.pod_name(options.pod), container)
    peers = [_one(kubectl, name, "") for name in names]
    if options.selector:
        peers += in_order(pod, _listed(kubectl, options.selector, ""))
    elif not names and not options.no_peers:
        peers = _sharing(kubectl, pod)
    return _at_most(list({one.name: one for one in (pod, *peers)}.values()), options.most)


def _one(kubectl: Kubectl, name: str, container: str) -> Pod:
    found = read_pods(kubectl.run("get", "pod", "--output=json", "--", name).data, container)
    if not found:
        raise KubectlError(f"kubectl get pod {name} printed no pod")
    return found[0]


def _listed(kubectl: Kubectl, selector: str, container: str) -> list[Pod]:
    words = ("get", "pods", "--output=json", f"--selector={calls.selector(selector)}")
    return read_pods(kubectl.run(*words).data, container)


def _sharing(kubectl: Kubectl, pod: Pod) -> list[Pod]:
    """Pods with the same labels. That they cannot be listed is told, and the pod read alone."""
    labels = shared_labels(pod)
    if not labels:
        tell(f"{pod.name} has no labels that peers could share: name one with --peer or -l")
        return []
    try:
        found = in_order(pod, _listed(kubectl, labels, ""))
    except KubectlError as error:
        tell(f"peers cannot be listed: {error.problem}")
        return []
    if not found:
        tell(f"no other pod has the labels {labels}: name a peer with --peer or -l")
    return found


def _at_most(pods: list[Pod], most: int) -> list[Pod]:
    left = pods[most:]
    if left:
        names = ", ".join(one.name for one in left[:4]) + (", …" if len(left) > 4 else "")
        tell(f"{len(left)} more pods are not read ({names}): --most {len(pods)} reads them too")
    return pods[:most]


def _sides(pods: list[Pod]) -> list[Pod]:
    """The sides that the arguments in the manifests tell, where labels and names tell none."""
    if all(one.side for one in pods):
        return pods
    from kvdoctor.intake import read
    from kvdoctor.load import load
    from kvdoctor.values import read_values, side_of

    knowledge = load()
    made = []
    for one in pods:
        if not one.side:
            paste = read(one.manifest, "manifest", knowledge=knowledge.reading)
            side = side_of(read_values(paste, table=knowledge.value_table))
            one = replace(one, side="" if side == "this" else side)
        made.append(one)
    return made


# -- what they said -----------------------------------------------------------------------------


def _logs(
    kubectl: Kubectl, pod: Pod, flags: list[str], previous: bool
) -> tuple[list[tuple[str, bytes]], list[str]]:
    """The logs of a pod by name, older first, and what went wrong."""
    wanted = [("previous", "--previous")] if previous or pod.restarted else []
    wanted += [] if previous else [("", "")]
    logs: list[tuple[str, bytes]] = []
    troubles: list[str] = []
    for kind, flag in wanted:
        words = [*flags, *([flag] if flag else []), f"--container={pod.container}"]
        try:
            answer = kubectl.run("logs", *words, "--", pod.name)
        except KubectlError as error:
            troubles.append(f"{pod.name}: {error}")
            continue
        if answer.cut:
            troubles.append(f"{pod.name}: only the first {calls.LARGEST:,} bytes of its log")
        if answer.data.strip():
            name = f"{pod.name}.{kind}.log" if kind else f"{pod.name}.log"
            logs.append((name, answer.data))
    return logs, troubles
