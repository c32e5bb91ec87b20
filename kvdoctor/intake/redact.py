"""Secrets are replaced on the way in, so that no later stage can show, store or copy one.

The same secret always becomes the same ``<secret-N>``. What a diagnosis needs stays: request ids,
engine ids, hashes, paths, hosts and ports have none of these forms.
"""

from __future__ import annotations

import re

from kvdoctor.intake.lazy import Lazy
from kvdoctor.intake.pieces import cut

# Tokens that betray themselves by their beginning.
_TOKENS = Lazy(
    r"(?<![A-Za-z0-9_-])(?:"
    r"hf_[A-Za-z0-9]{16,200}"
    r"|sk-[A-Za-z0-9_-]{16,300}"
    r"|gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}|glpat-[A-Za-z0-9_-]{16,100}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|AIza[A-Za-z0-9_-]{30,60}|ya29\.[A-Za-z0-9_-]{20,500}"
    r"|nvapi-[A-Za-z0-9_-]{16,200}|rpa_[A-Za-z0-9]{20,100}|r8_[A-Za-z0-9]{20,100}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,200}|xapp-[A-Za-z0-9-]{20,200}|pypi-[A-Za-z0-9_-]{20,300}|npm_[A-Za-z0-9]{20,100}"
    r"|hv[sbr]\.[A-Za-z0-9_-]{16,300}|do[opr]_v1_[a-f0-9]{30,100}|tskey-[a-z]{2,20}-[A-Za-z0-9-]{8,100}"
    r"|SG\.[A-Za-z0-9_-]{10,60}\.[A-Za-z0-9_-]{10,100}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,200}"
    r"|whsec_[A-Za-z0-9]{16,200}"
    r"|(?<=hooks\.slack\.com/services/)[A-Za-z0-9/_-]{16,200}"
    r"|eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,8000}(?:\.[A-Za-z0-9_-]{0,4000})?"
    r")"
)
_TOKEN_MARKS = (
    "hf_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "AKIA", "ASIA",
    "AIza", "ya29.", "nvapi-", "rpa_", "r8_", "xox", "xapp-", "eyJ", "pypi-", "npm_",
    "hvs.", "hvb.", "hvr.", "_v1_", "tskey-", "SG.", "k_live_", "k_test_", "whsec_",
    "hooks.slack.com",
)  # fmt: skip

# A name that says its value is secret, then the value: NAME=value, "name": "value", --name value.
_NAMED = Lazy(
    r"(?P<head>(?:api[_-]?key|secret[_-]?(?:access[_-]?)?key|access[_-]?key(?:[_-]?id)?"
    r"|(?:hf|hub|api|auth|access|refresh|session|bearer)[_-]?token|passw(?:or)?d|passphrase"
    r"|(?:client|app|aws)[_-]?secret|(?:private|account|master)[_-]?key|credentials?"
    r"|client-(?:key|certificate)-data|certificate-authority-data)"
    r"(?![A-Za-z])[\w-]{0,20}(?:\\?[\"'])?(?:\s{0,3}[=:]\s{0,3}|\s{1,3}(?=\S)))"
    r"\[?\\?(?P<quote>[\"'])?"
    r"(?P<value>(?(quote)[^\"'\\\n]{4,500}(?=\\?[\"'])|(?!))|[^\s\"'\\,;&)\]}<>]{4,2000})",
    re.IGNORECASE,
)
_NAMED_MARKS = (
    "pi_key", "pi-key", "pikey", "ccess_key", "ccess-key", "ccesskey", "vate_key", "vate-key",
    "ecret", "assw", "assphrase", "hf_token", "hf-token", "hub_token", "auth_token", "auth-token",
    "esh_token", "ccess_token", "ccess-token", "api_token", "api-token", "ssion_token",
    "rer_token", "redential", "ount_key", "ountkey", "ount-key", "ter_key", "ter-key", "terkey",
    "t-key-data", "cate-data", "rity-data", "authtoken",
)  # fmt: skip
# Names that only betray a secret by the form of its value: GITLAB_TOKEN=…, X-Vault-Token: …,
# token: … of a kubeconfig, "auth": "…" of a docker configuration.
_MIXED = Lazy(
    r"(?P<head>(?:\b[A-Z][A-Z0-9_]{0,60}_(?:TOKEN|SECRET|PASS|PASSWORD)|[Xx]-[A-Za-z-]{0,30}[Tt]oken"
    r"|^[ \t]{0,40}(?:token|secret|pass)(?=:)|_authToken|[\"'](?:auth|token|secret)(?=\\?[\"']))"
    r"(?:\\?[\"'])?\s{0,3}[=:]\s{0,3}\\?[\"']?|--(?:[a-z]{1,20}-){0,3}token[= ]\s{0,3}[\"']?)"
    r"(?P<value>(?=[^\s\"']{0,400}[0-9])(?=[^\s\"']{0,400}[A-Za-z])[A-Za-z0-9._~+/=-]{12,4000})"
)
_MIXED_MARKS = (
    "_token", "_secret", "_pass", "token:", "token=", 'token"', "token'", "-token", "authtoken",
    '"auth', "'auth", "secret:", 'secret"', "secret'", "pass:",
)  # fmt: skip
# A variable of a container, whose name and value stand in two fields: - name: X, then value: Y.
_VARIABLE = Lazy(
    r"(?P<head>\bname[\"']?:\s{0,3}[\"']?[A-Za-z0-9_]{0,60}"
    r"(?:PASSWORD|PASSWD|PASS|SECRET|TOKEN|API_KEY|ACCESS_KEY|CREDENTIALS?)[\"']?,?\s{1,60}"
    r"[\"']?value[\"']?:\s{0,3}[\"']?)(?P<value>[^\s\"'{}<>]{4,2000})"
)
_USER = Lazy(
    r"(?P<head>\bcurl\b[^\n]{0,400}?\s(?:-u|--user|--proxy-user)[ =]{0,2}[\"']?[^\s:\"']{1,100}:)"
    r"(?P<value>[^\s\"'<>]{3,200})"
)
_MAIL = Lazy(
    r"(?P<head>(?<![\w.+/:@-]))(?P<value>[A-Za-z0-9][\w.+-]{0,63}@[A-Za-z0-9-]{1,63}"
    r"(?:\.[A-Za-z0-9-]{1,63}){0,5}\.(?!(?:py|so|json|txt|log|ya?ml|md|sh|cpp|cu)\b)[A-Za-z]{2,24})"
    r"(?![\w@/:-]|\.\w)"
)
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
    r"(?P<head>[?&](?:X-Amz-(?:Signature|Credential|Security-Token)|sig|signature|token|sv_token)="
    r"|\bSignature=(?=[0-9a-f]{40}))"
    r"(?P<value>[A-Za-z0-9%._~+/=-]{8,4000})"
)
_PEM = Lazy(r"-----(BEGIN|END) [A-Z ]{0,40}PRIVATE KEY-----")
_KEY_LINE = Lazy(r"(?:^|\s)[A-Za-z0-9+/]{24,90}={0,2}\s{0,2}$")
MAX_KEY_LINE = 200  # characters at the end of a line in which one line of a key stands
MAX_PEM = 20_000  # characters of one private key
SEAM = 400  # characters before and behind a line end in which a variable's name and value stand

_HARMLESS = frozenset(
    {"none", "null", "true", "false", "empty", "unset", "undefined", "required", "optional",
     "redacted", "hidden", "secret", "token", "bearer", "basic", "string", "value", "file",
     "with", "from", "must", "does", "your", "this", "that", "will", "should", "when", "provided"}
)  # fmt: skip
_STARS = Lazy(r"[*xX.…•-]{3,}$")


def redact(text: str) -> tuple[str, int]:
    """``text`` with every secret replaced, and how many places were replaced."""
    redactor = _Redactor()
    return redactor.run(redactor.without_keys([text])[0]), redactor.count


def redact_parts(parts: list[str]) -> int:
    """The same for a text in pieces of whole lines: each is replaced in the list."""
    redactor = _Redactor()
    parts[:] = _unparted(redactor.without_keys(parts))
    for at, part in enumerate(parts):
        parts[at] = redactor.run(part)
    return redactor.count


class _Redactor:
    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.count = 0

    def without_keys(self, parts: list[str]) -> list[str]:
        """The text without private keys, which span lines."""
        if not any("PRIVATE KEY-----" in part for part in parts):
            return parts
        text = self._without_keys("".join(parts))
        return list(cut(text, "\n")) if len(parts) > 1 else [text]

    def run(self, text: str) -> str:
        raw = text.encode("utf-8", "replace")  # a search in bytes is several times as fast
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
            (("curl ",), _USER),
            (("@",), _MAIL),
        ):
            present = tuple(mark for mark in marks if mark.encode() in low)
            text = self._on_lines(text, present, pattern)
        if any(mark in low for mark in (b"value:", b'value":', b"value':")):
            text = self._replaced(_VARIABLE, text)
        return text

    def _without_keys(self, text: str) -> str:
        """Private keys replaced, each line of theirs by itself so that line numbers stay. Of a key
        that is cut off goes what looks like one."""
        out: list[str] = []
        done, begin = 0, -1
        for mark in _PEM.finditer(text):
            if mark[1] == "BEGIN":
                done = self._half_key(text, out, done, begin)
                begin = mark.start()
                continue
            if begin < 0 or mark.end() - begin > MAX_PEM:
                done = self._half_key(text, out, done, begin)
                begin = _first_of_key(text, mark.start(), done)
            name = self._name(text[begin : mark.end()])
            lines = text.count("\n", begin, mark.end()) + 1
            out += (text[done:begin], "\n".join([name] * lines))
            done, begin = mark.end(), -1
        done = self._half_key(text, out, done, begin)
        return "".join([*out, text[done:]])

    def _half_key(self, text: str, out: list[str], done: int, begin: int) -> int:
        """Replace the key at ``begin`` whose end is missing; returns up to where it was done."""
        if begin < 0:
            return done
        lines = 1
        end = _line_end(text, begin)
        while end < len(text) and end - begin < MAX_PEM:
            behind = _line_end(text, end + 1)
            if not _KEY_LINE.search(text[end + 1 : behind][-MAX_KEY_LINE:]):
                break
            end, lines = behind, lines + 1
        name = self._name(text[begin:end])
        out += (text[done:begin], "\n".join([name] * lines))
        return end

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
            out += (text[done:start], self._replaced(pattern, text[start:end]))
            done = end
        out.append(text[done:])
        return "".join(out)

    def _name(self, secret: str) -> str:
        self.count += 1
        return self.names.setdefault(secret, f"<secret-{len(self.names) + 1}>")

    def _whole(self, match: re.Match[str]) -> str:
        return self._name(match.group())

    def _replaced(self, pattern: Lazy, text: str) -> str:
        """``text`` with the values that are secrets replaced. What follows a name that turned out
        to be prose may be a name itself."""
        out: list[str] = []
        done = at = 0
        while match := pattern.search(text, at):
            start, end = match.span("value")
            at = start
            before = text[max(0, match.start() - 40) : match.start()]
            if _is_secret(match["value"], match["head"], before):
                out += (text[done:start], self._name(match["value"]))
                done = at = end
        return "".join([*out, text[done:]]) if out else text


def _unparted(parts: list[str]) -> list[str]:
    """The pieces, put together where a cut may part the name of a variable from its value."""
    out = parts[:1]
    for part in parts[1:]:
        before = out[-1][-SEAM:]
        if "name" in before and ("value" in before or "value" in part[:SEAM]):
            out[-1] += part
        else:
            out.append(part)
    return out


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _first_of_key(text: str, end: int, floor: int) -> int:
    """Where the lines of a key start whose last line begins at or before ``end``."""
    first = max(text.rfind("\n", floor, end) + 1, floor)
    while first > floor and end - first < MAX_PEM:
        before = max(text.rfind("\n", floor, first - 1) + 1, floor)
        if not _KEY_LINE.search(text[before : first - 1][-MAX_KEY_LINE:]):
            break
        first = before
    return first


def _is_secret(value: str, head: str, before: str) -> bool:
    if value.lower().rstrip(".:,)") in _HARMLESS or _STARS.match(value):
        return False
    if value.startswith(("<secret-", "/", "$", "os.environ", "%(", "{{")):
        return False
    if not head or "curl" in head:
        return True
    if head[-1].isspace() and "=" not in head and ":" not in head and "asic" not in head.lower():
        # "--api-key value" is a value, "the API key is wrong" is prose
        return "earer" in head.lower() or "--" in before + head
    return True
