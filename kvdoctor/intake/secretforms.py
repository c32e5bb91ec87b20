"""The forms of secrets: how real tokens, headers, variables and addresses look in a log."""

from __future__ import annotations

import re

from kvdoctor.intake.lazy import Lazy

# A quote as source, JSON inside JSON, a page's source or a chat have it; "=" as JSON may have it.
_QUOTE = r"(?:\\{0,7}[\"']|&(?:quot|#34|#39|#x27);|[\u201c\u201d\u2018\u2019])"
_IS = r"(?:[=:]|\\{1,4}u003[dD]|%3[dD])"
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
    "hf_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "akia", "asia",
    "aiza", "ya29.", "nvapi-", "rpa_", "r8_", "xox", "xapp-", "eyj", "pypi-", "npm_",
    "hvs.", "hvb.", "hvr.", "dop_v1_", "doo_v1_", "dor_v1_", "tskey-", "sg.", "k_live_", "k_test_",
    "whsec_", "hooks.slack.com",
)  # fmt: skip

# A name that says its value is secret, then the value: NAME=value, "name": "value", --name value.
_NAMED = Lazy(
    r"(?P<head>(?:api[_-]?key|secret[_-]?(?:access[_-]?)?key|access[_-]?key(?:[_-]?id)?"
    r"|(?:hf|hub|api|auth|access|refresh|session|bearer)[_-]?token|passw(?:or)?d|passphrase"
    r"|(?:client|app|aws)[_-]?secret|(?:private|account|master)[_-]?key|credentials?"
    r"|client-(?:key|certificate)-data|certificate-authority-data)"
    rf"(?![A-Za-z])[\w-]{{0,20}}{_QUOTE}?(?:\s{{0,3}}{_IS}\s{{0,3}}|\s{{1,3}}(?=\S)))"
    rf"\[?b?(?P<quote>{_QUOTE})?"
    r"(?P<value>(?(quote)[^\"'\\&\u201c\u201d\u2018\u2019\n]{4,500}"
    rf"(?={_QUOTE})|(?!))|[^\s\"'\\,;&)\]}}<>\u201c\u201d]{{4,20000}})",
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
    r"|^[ \t]{0,40}(?:token|secret|pass)(?=:)|_authToken"
    r"|[\"'](?:auth|token|secret)(?=\\{0,7}[\"']))"
    rf"{_QUOTE}?\s{{0,3}}{_IS}\s{{0,3}}{_QUOTE}?"
    r"|--(?:[a-z]{1,20}-){0,3}token[= ]\s{0,3}[\"']?)"
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
# An argument and its value as two items of a list or two rows of a command.
_ARGUMENT = Lazy(
    r"(?P<head>--(?:[a-z]{1,20}-){0,3}?(?:api-key|master-key|access-key|hf-token|auth-token"
    r"|api-token|password|passphrase|secret|secret-key)(?:[\"'],\s{0,3}[\"']"
    r"|[\"'][ \t]{0,3},[ \t]{0,20}\r?\n[ \t]{0,80}[\"']"
    r"|[ \t]{0,3}[,\\][ \t]{0,20}\r?\n[ \t]{0,80}(?:-[ \t]{1,4})?[\"']?"
    r"|[\"']?[ \t]{0,20}\r?\n[ \t]{0,80}-[ \t]{1,4}[\"']?))"
    r"(?P<value>[^\s\"'\\,<\]-][^\s\"'\\,\]]{3,2000})"
)
# A value of YAML below its name: password: |
_BLOCK = Lazy(
    r"(?P<head>\b(?:[\w.-]{0,40}[_.-])?(?:password|passwd|passphrase|token|secret|api[_-]?key"
    r"|credentials?)[\"']?:[ \t]{1,3}[|>][+-]?\d?[ \t]{0,20}\r?\n[ \t]{1,80})"
    r"(?P<value>[^\s<-][^\n]{3,2000})",
    re.IGNORECASE,
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
    r"(?i)(?P<head>\b(?:bearer|basic)\s{1,3}|x-api-key[\"']?\s{0,3}[:=,]\s{0,3}b?[\"']?)"
    r"(?P<value>[A-Za-z0-9._~+/=-]{8,4000})"
)
_URL = Lazy(
    r"(?P<head>[A-Za-z][A-Za-z0-9+.-]{1,20}:(?:\\{0,3}/){2}[^\s/:@\"'<>]{0,200}:)"
    r"(?P<value>[^\s/@\"'<>]{1,200})(?=@)"
)
_SIGNED = Lazy(
    r"(?P<head>[?&](?:X-Amz-(?:Signature|Credential|Security-Token)|sig|signature|token|sv_token)="
    r"|\bSignature=(?=[0-9a-f]{40}))"
    r"(?P<value>[A-Za-z0-9%._~+/=-]{8,4000})"
)

# The patterns that a row is searched for, in this order, each with what stands in every row (in
# lower case) in which it can be found. The secret is the group "value", or the whole.
GROUPS: tuple[tuple[tuple[str, ...], Lazy], ...] = (
    (("@",), _URL),
    (_TOKEN_MARKS, _TOKENS),
    (("earer ", "asic ", "pi-key"), _BEARER),
    (("x-amz-", "&sig", "?sig", "token=", "ignature="), _SIGNED),
    (_NAMED_MARKS, _NAMED),
    (_MIXED_MARKS, _MIXED),
    (("ookie:", "ookie=", 'ookie"', "ookie'"), _COOKIE),
    (("curl ",), _USER),
    (("@",), _MAIL),
)
# What may begin on one row and end on another, with what one of its rows holds in lower case.
OVER_ROWS: tuple[tuple[tuple[str, ...], Lazy], ...] = (
    (("value:", 'value":', "value':"), _VARIABLE),
    (("-key", "-token", "-password", "-secret"), _ARGUMENT),
    ((": |", ": >"), _BLOCK),
)
