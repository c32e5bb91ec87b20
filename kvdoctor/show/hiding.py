"""Hosts, addresses and pods of a text replaced by tokens: the same name gives the same token.

For notes that leave the company: who talks to whom stays readable, where they live does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address

KEPT = frozenset({"0.0.0.0", "127.0.0.1", "::1", "::", "localhost"})  # noqa: S104 - kept, not bound
PUBLIC = frozenset({"github.com", "huggingface.co", "docs.vllm.ai", "pypi.org"})  # nobody's host
_SUFFIXES = (
    "local|internal|lan|svc|cluster|corp|intra|home|compute|com|net|org|io|ai|dev|cloud|eu|de|cn|"
    "us|uk|fr|jp|kr|in|gov|edu|app|tech|co"
)
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})"
_IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])")
_URL = re.compile(rf"(?<=://)(?:[^\s/@]{{1,200}}@)?({_LABEL}(?:\.{_LABEL}){{0,12}})(?=[:/\s\"']|$)")
_NAME = re.compile(
    rf"(?<![\w./-])((?:{_LABEL}\.){{1,12}}(?:{_SUFFIXES}))(?![\w/(-]|\.\w)", re.IGNORECASE
)
_PORT = re.compile(r"(?<![\w./:-])([A-Za-z][\w-]{2,62}(?:\.[\w-]{1,63}){0,12})(?=:\d{2,5}(?!\w|:))")
_SOURCE = re.compile(r"\.(?:py|pyx|cc|cpp|cu|cuh|h|hpp|c|rs|go|js|ts|so|log|txt|ya?ml|json)$")
_KEY = re.compile(
    r"(?:(?<=host[=:])|(?<=host\": \")|(?<=host=')|(?<=host=\")|(?<=hostname=)|(?<=HOST=)"
    r"|(?<=_IP=)|(?<=node=))([A-Za-z0-9][\w.-]{1,200})"
)
# With a blank between, the next word may just be the next word of a sentence.
_OPTION = re.compile(r"(?<=--host )([A-Za-z0-9][\w.-]{0,200}\w)")
_SPOKEN = re.compile(r"(?<![A-Za-z-])host:? ([A-Za-z0-9][\w.-]{0,200}\w)", re.IGNORECASE)
_SENTENCE = frozenset(
    re.findall(
        r"\w+",
        """
a able address again all already also an and another any are as at be because been before both
but by can cannot could did does down fails first for from had has have here if in into is it
its itself know knows may memory must name names need needs no not of off on only or out over
port ran reach reachable runs shall should so than that the their them then there they this to
too twice under unless until up use used uses was were when where which while who whose will
with within without would yet
""",
    )
)
_WORD = re.compile(r"[A-Za-z][\w.-]*")


class Hider:
    """One table of tokens for a whole note. ``known``: names (pods, nodes) that the intake read
    from prefixes and that no pattern could tell from other words; ``prose``: sentences of ours,
    whose words name no machine where they follow the word host, whose dotted names are modules
    and whose capitals (PREFILL:PORT) stand for what the reader fills in."""

    def __init__(self, known: Iterable[str] = (), prose: Iterable[str] = ()) -> None:
        self._tokens: dict[str, str] = {}
        written = {word.rstrip(".") for text in prose for word in _WORD.findall(text)}
        self._ordinary = frozenset(word.lower() for word in written)
        self._ours = {one for one in written if "." in one or one.isupper()} | {"host", "port"}
        names = sorted({one for one in known if len(one) > 2}, key=len, reverse=True)
        self._known = names[:500]

    def hide(self, text: str) -> str:
        """``text`` with every host, address and pod as a token."""
        for name in self._known:
            if name in text:
                text = text.replace(name, self._token(name, "POD"))
        text = _IPV6.sub(lambda found: self._address(found[0]), text)
        text = _IPV4.sub(lambda found: self._address(found[0]), text)
        for pattern in (_URL, _KEY):
            text = pattern.sub(self._host, text)
        text = _OPTION.sub(lambda found: self._after(found, _SENTENCE), text)
        text = _SPOKEN.sub(lambda found: self._after(found, _SENTENCE | self._ordinary), text)
        for pattern in (_PORT, _NAME):
            text = pattern.sub(self._host, text)
        return text

    def _after(self, found: re.Match[str], ordinary: frozenset[str]) -> str:
        """The word behind "host " hidden unless it is an ordinary one."""
        return found[0] if found[1].lower() in ordinary else self._host(found)

    def _address(self, text: str) -> str:
        try:
            address = ip_address(text)
        except ValueError:
            return text  # a release, a time: it only looks like one
        return text if str(address) in KEPT else self._token(str(address), "IP")

    def _host(self, found: re.Match[str]) -> str:
        name, whole = found[1], found[0]
        if (
            name in self._ours
            or name.lower() in KEPT | PUBLIC
            or name in self._tokens.values()
            or _SOURCE.search(name)
        ):
            return whole
        if name.isdigit() or name.replace(".", "").isdigit():
            return whole
        start = found.start(1) - found.start()
        token = self._token(name.lower(), "HOST")
        return whole[:start] + token + whole[start + len(name) :]

    def _token(self, name: str, kind: str) -> str:
        if name not in self._tokens:
            number = sum(one.startswith(f"{kind}-") for one in self._tokens.values()) + 1
            self._tokens[name] = f"{kind}-{number}"
        return self._tokens[name]
