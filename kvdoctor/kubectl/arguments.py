"""The options of ``kubectl kvdoctor``: which pods, and what to do with them."""

from __future__ import annotations

import argparse

from kvdoctor import __version__
from kvdoctor.command.arguments import Parser, add_knowledge, add_screen_looks, add_switch


def parser() -> argparse.ArgumentParser:
    """The parser of the plugin's command line."""
    made = Parser(
        prog="kubectl kvdoctor",
        description="the logs and manifests of a vLLM pod and its peers, diagnosed.",
        epilog="Reads with kubectl get and kubectl logs alone; needs the right to get and list "
        "pods and to read their logs. Exit status: as kvdoctor diagnose, 2 when kubectl fails.",
    )
    made.add_argument("-V", "--version", action="version", version=f"kvdoctor {__version__}")
    made.add_argument("pod", nargs="?", default="", metavar="POD", help="name, or pod/NAME")
    _add_pods(made)
    _add_reading(made)
    _add_outcome(made)
    return made


def _add_pods(made: argparse.ArgumentParser) -> None:
    made.add_argument("-n", "--namespace", default="", metavar="NAME", help="namespace")
    made.add_argument("--context", default="", metavar="NAME", help="context of the kubeconfig")
    made.add_argument("--kubeconfig", default="", metavar="FILE", help="the kubeconfig")
    made.add_argument("-c", "--container", default="", metavar="NAME", help="container of the pods")
    made.add_argument("-l", "--selector", default="", metavar="SELECTOR", help="peers by labels")
    made.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="POD",
        help="a pod of the other side (default: pods that share the labels of POD)",
    )
    made.add_argument("--no-peers", action="store_true", help="read POD alone")
    made.add_argument(
        "--most", type=int, default=8, metavar="N", help="read at most N pods (default 8)"
    )


def _add_reading(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "-p",
        "--previous",
        action="store_true",
        help="only the log before the last restart (default: both, where there was one)",
    )
    made.add_argument("--tail", type=int, default=-1, metavar="N", help="the last N lines")
    made.add_argument("--since", default="", metavar="TIME", help="newer than 5s, 2m or 3h")
    made.add_argument(
        "--timeout", type=int, default=60, metavar="SECONDS", help="for each call (default 60)"
    )


def _add_outcome(made: argparse.ArgumentParser) -> None:
    made.add_argument("--diagnose", action="store_true", help="print the report, no screen")
    made.add_argument("--json", action="store_true", help="print one JSON document")
    made.add_argument(
        "--note", choices=("markdown", "slack", "plain", "issue"), help="print an incident note"
    )
    add_switch(made, "--hide-hosts", "in the note: hosts, addresses and pods replaced by tokens")
    made.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="sets", help="an answer"
    )
    add_screen_looks(made)
    add_knowledge(made)
