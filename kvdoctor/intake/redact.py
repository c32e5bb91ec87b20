"""Secrets are replaced on the way in, so that no later stage can show, store or copy one.

The same secret always becomes the same ``<secret-N>``. What a diagnosis needs stays: request ids,
engine ids, hashes, paths, hosts and ports have none of these forms.
"""

from __future__ import annotations

import re

from kvdoctor.intake.lazy import Lazy

# Tokens that betray themselves by their beginning.
_TOKENS = Lazy(
    r"(?<![A-Za-z0-9_-])(?:"
    r"hf_[A-Za-z0-9]{16,200}"
    r"|sk-[A-Za-z0-9_-]{16,300}"
    r"|gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}|glpat-[A-Za-z0-9_-]{16,100}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|AIza[A-Za-z0-9_-]{30,60}|ya29\.[A-Za-z0-9_-]{20,500}"
    r"|nvapi-[A-Za-z0-9_-]{16,200}|rpa_[A-Za-z0-9]{20,100}|r8_[A-Za-z0-9]{20,100}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,200}|pypi-[A-Za-z0-9_-]{20,300}|npm_[A-Za-z0-9]{20,100}"
    r"|hv[sbr]\.[A-Za-z0-9_-]{16,300}|do[opr]_v1_[a-f0-9]{30,100}|tskey-[a-z]{2,20}-[A-Za-z0-9-]{8,100}"
    r"|SG\.[A-Za-z0-9_-]{10,60}\.[A-Za-z0-9_-]{10,100}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,200}"
    r"|whsec_[A-Za-z0-9]{16,200}"
    r"|(?<=hooks\.slack\.com/services/)[A-Za-z0-9/_-]{16,200}"
    r"|eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,8000}(?:\.[A-Za-z0-9_-]{0,4000})?"
    r")"
)
_TOKEN_MARKS = (
    "hf_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "AKIA", "ASIA",
    "AIza", "ya29.", "nvapi-", "rpa_", "r8_", "xox", "eyJ", "pypi-", "npm_", "hvs.", "hvb.", "hvr.",
    "_v1_", "tskey-", "SG.", "k_live_", "k_test_", "whsec_", "hooks.slack.com",
)  # fmt: skip

# A name that says its value is secret, then the value: NAME=value, "name": "value", --name value.
_NAMED = Lazy(
    r"(?P<head>(?:api[_-]?key|secret[_-]?(?:access[_-]?)?key|access[_-]?key(?:[_-]?id)?"
    r"|(?:hf|hub|api|auth|access|refresh|session|bearer)[_-]?token|passw(?:or)?d|passphrase"
    r"|(?:client|app|aws)[_-]?secret|(?:private|account)[_-]?key|client-key-data|credentials?)"
    r"(?![A-Za-z])[\w-]{0,20}(?:\\?[\"'])?(?:\s{0,3}[=:]\s{0,3}|\s{1,3}(?=\S)))"
    r"(?P<open>\[?\\?[\"']?)(?P<value>[^\s\"'\\,;&)\]}<>]{4,2000})",
    re.IGNORECASE,
)
_NAMED_MARKS = (
    "pi_key", "pi-key", "pikey", "ccess_key", "ccess-key", "ccesskey", "vate_key", "vate-key",
    "ecret", "assw", "assphrase", "hf_token", "hf-token", "hub_token", "auth_token", "auth-token",
    "esh_token", "ccess_token", "ccess-token", "api_token", "api-token", "ssion_token",
    "rer_token", "redential", "ount_key", "ountkey", "ount-key", "t-key-data", "authtoken",
)  # fmt: skip
# Names that only betray a secret by the form of its value: GITLAB_TOKEN=…, X-Vault-Token: …,
# token: … of a kubeconfig, "auth": "…" of a docker configuration.
_MIXED = Lazy(
    r"(?P<head>(?:\b[A-Z][A-Z0-9_]{0,60}_(?:TOKEN|SECRET|PASS|PASSWORD)|[Xx]-[A-Za-z-]{0,30}[Tt]oken"
    r"|^[ \t]{0,40}token(?=:)|_authToken|\"auth\")(?:\\?[\"'])?\s{0,3}[=:]\s{0,3}\\?[\"']?)"
    r"(?P<value>(?=[^\s\"']{0,400}[0-9])(?=[^\s\"']{0,400}[A-Za-z])[A-Za-z0-9._~+/=-]{12,4000})"
)
_MIXED_MARKS = ("_token", "_secret", "_pass", "token:", "token=", 'token"', "authtoken", '"auth"')
_COOKIE = Lazy(
    r"(?i)(?P<head>\b(?:set-)?cookie[\"']?\s{0,3}[:=]\s{0,3}[\"']?)(?P<value>[^\s\"'=]{1,100}="
    r"[^\"'\n]{4,4000})"
)
_BEARER = Lazy(
    r"(?i)(?P<head>\b(?:bearer|basic)\s{1,3}|x-api-key\s{0,3}[:=]\s{0,3}[\"']?)"
    r"(?P<value>[A-Za-z0-9._~+/=-]{8,4000})"
)
_URL = Lazy(
    r"(?P<head>[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,200}:)(?P<value>[^\s/@\"'<>]{1,200})(?=@)"
)
_SIGNED = Lazy(
    r"(?P<head>[?&](?:X-Amz-(?:Signature|Credential|Security-Token)|sig|signature|token|sv_token)=)"
    r"(?P<value>[A-Za-z0-9%._~+/=-]{8,4000})"
)
_PEM = Lazy(r"-----(BEGIN|END) [A-Z ]{0,40}PRIVATE KEY-----")
MAX_PEM = 20_000  # characters of one private key

_HARMLESS = frozenset(
    {"none", "null", "true", "false", "empty", "unset", "undefined", "required", "optional",
     "redacted", "hidden", "secret", "token", "bearer", "basic", "string", "value", "file",
     "with", "from", "must", "does", "your", "this", "that", "will", "should", "when", "provided"}
)  # fmt: skip
_STARS = Lazy(r"[*xX.…•-]{3,}$")


def redact(text: str) -> tuple[str, int]:
    """``text`` with every secret replaced, and how many places were replaced."""
    return _Redactor().run(text)


class _Redactor:
    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.count = 0

    def run(self, text: str) -> tuple[str, int]:
        raw = text.encode("utf-8", "replace")  # a search in bytes is several times as fast
        if b"PRIVATE KEY-----" in raw:
            text = self._without_keys(text)
        if b"://" in raw and b"@" in raw:
            text = self._on_lines(text, ("@",), _URL)
        if any(mark.encode() in raw for mark in _TOKEN_MARKS):
            text = _TOKENS.sub(self._whole, text)
        low = raw.lower()
        for marks, pattern in (
            (("earer ", "asic ", "pi-key"), _BEARER),
            (("x-amz-", "&sig", "?sig", "token=", "ignature="), _SIGNED),
            (_NAMED_MARKS, _NAMED),
            (_MIXED_MARKS, _MIXED),
            (("ookie:", "ookie=", 'ookie"', "ookie'"), _COOKIE),
        ):
            present = tuple(mark for mark in marks if mark.encode() in low)
            text = self._on_lines(text, present, pattern)
        return text, self.count

    def _without_keys(self, text: str) -> str:
        """Private keys replaced, each line of theirs by itself so that line numbers stay."""
        out: list[str] = []
        done, begin = 0, -1
        for mark in _PEM.finditer(text):
            if mark[1] == "BEGIN":
                begin = mark.start()
            elif begin >= 0 and mark.end() - begin <= MAX_PEM:
                name = self._name(text[begin : mark.end()])
                lines = text.count("\n", begin, mark.end()) + 1
                out += (text[done:begin], "\n".join([name] * lines))
                done, begin = mark.end(), -1
        return "".join([*out, text[done:]])

    def _on_lines(self, text: str, marks: tuple[str, ...], pattern: Lazy) -> str:
        """``pattern`` applied to the lines that hold one of ``marks`` in upper or lower case."""
        if not marks:
            return text
        low = text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
        starts: set[int] = set()
        for mark in marks:
            at = low.find(mark)
            while at >= 0:
                starts.add(low.rfind("\n", 0, at) + 1)
                end = low.find("\n", at)
                at = -1 if end < 0 else low.find(mark, end)
        if not starts:
            return text
        out: list[str] = []
        done = 0
        for start in sorted(starts):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            out += (text[done:start], pattern.sub(self._value, text[start:end]))
            done = end
        out.append(text[done:])
        return "".join(out)

    def _name(self, secret: str) -> str:
        self.count += 1
        return self.names.setdefault(secret, f"<secret-{len(self.names) + 1}>")

    def _whole(self, match: re.Match[str]) -> str:
        return self._name(match.group())

    def _value(self, match: re.Match[str]) -> str:
        value = match["value"]
        before = match.string[max(0, match.start() - 40) : match.start()]
        if not _is_secret(value, match["head"], before):
            return match.group()
        start = match.start("value") - match.start()
        return match.group()[:start] + self._name(value)


def _is_secret(value: str, head: str, before: str) -> bool:
    if value.lower().rstrip(".:,)") in _HARMLESS or _STARS.match(value):
        return False
    if value.startswith(("<secret-", "/", "$", "os.environ", "%(", "{{")):
        return False
    if head[-1].isspace() and "=" not in head and ":" not in head and "asic" not in head.lower():
        # "--api-key value" is a value, "the API key is wrong" is prose
        return "earer" in head.lower() or "--" in before
    return True
