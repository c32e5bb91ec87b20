"""The form of a record as data: read by the checker, the JSON Schema writer and `kvdoctor new`."""

from __future__ import annotations

from kvdoctor.data import dataclass

STATUS = ("draft", "proven", "retired")
WHERE = ("anywhere", "before", "after")
SEVERITY = ("error", "warning", "danger", "notice")
KINDS = ("raise", "assert", "log", "external", "symptom")
STEPS = ("start", "prefill", "hand-over", "handshake", "transfer", "decode", "none")
SIDES = ("prefill", "decode", "both", "this", "other", "router")
FIX_KINDS = (
    "flag", "kv-transfer-config", "env", "upgrade", "model", "router", "command", "report-bug",
)  # fmt: skip
PROOFS = ("guard", "rerun", "source", "unproven")
RELATIONS = ("mistaken-for", "leads-to", "same-cause")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
TYPES = ("int", "number", "text", "bool", "choice", "version")
PROVEN = ("guard", "rerun", "source")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A single value. ``kind``: text, bool, int, number, any (a scalar) or expression (a text; a
    bare number or true/false will do)."""

    kind: str
    choices: tuple[str, ...] = ()
    pattern: str = ""
    means: str = ""  # what a text holds: expression, template, message, range, id


@dataclass(frozen=True, slots=True)
class Many:
    """A list; ``single``: one value alone may stand for a list of one."""

    of: Kind
    single: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping with keys of the author's own."""

    of: Kind
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    kind: Kind
    doc: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """A mapping with fixed keys."""

    name: str
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)


@dataclass(frozen=True, slots=True)
class Either:
    """One of several forms, told apart by whether the value is a list, a mapping or a text."""

    options: tuple[Kind, ...]


Kind = Leaf | Many | Table | Shape | Either

ID = r"[a-z0-9]+(?:-[a-z0-9]+)*"
NAME = r"[A-Za-z_][A-Za-z0-9_]*"
TEXT = Leaf("text")
WORD = Leaf("text", means="id", pattern=ID)
RANGE = Leaf("text", means="range")
EXPRESSION = Leaf("expression", means="expression")
TEMPLATE = Leaf("text", means="template")
MESSAGE = Leaf("text", means="message")
FRAME = Leaf("text", pattern=r"[^:\s]+:[^:\s]+")

SEEN_IN = Shape(
    "seen_in",
    (
        Field("vllm", RANGE, "releases in which the failure exists", required=True),
        Field("raised_in", FRAME, "file:function that raises, as in a traceback"),
    ),
)
IDENTIFY = Shape(
    "identify",
    (
        Field("exception", TEXT, "class of the exception, without its module"),
        Field("message", MESSAGE, "the whole message, with {named} holes for its values"),
        Field("level", Leaf("text", LEVELS), "level of the log record, for messages that are one"),
        Field("frame", FRAME, "file:function of the innermost frame, for bare asserts"),
        Field("code", TEXT, "source text of that frame"),
        Field("any_frame", TEXT, "part-of-path or part-of-path:function, in the traceback"),
        Field("before", MESSAGE, "message of a log line that must stand earlier in the text"),
        Field("native", TEXT, "file of a native library's record, such as topology.cpp"),
    ),
)
IDENTIFY_ANY = Shape(
    "identify",
    (
        *(field for field in IDENTIFY.fields if field.name != "message"),
        Field(
            "any",
            Many(Either((MESSAGE, IDENTIFY))),
            "messages (or entries) that share what stands beside them",
            required=True,
        ),
    ),
)
INPUT = Shape(
    "input",
    (
        Field("type", Leaf("text", TYPES), "type of the value", required=True),
        Field("ask", TEXT, "the question, short", required=True),
        Field("find", TEXT, "where a person reads the value: flag, config key, log line"),
        Field("unit", TEXT, "unit: tokens, GiB, heads"),
        Field("side", Leaf("text", SIDES), "whose value it is"),
        Field("choices", Many(TEXT), "the values of a choice"),
        Field("minimum", Leaf("number"), "smallest value that can be"),
        Field("maximum", Leaf("number"), "largest value that can be"),
        Field("reads", Many(TEXT), "names under which the value is read from logs and commands"),
        Field(
            "lines", Table(Leaf("any")), "template of a log line -> the value it tells when seen"
        ),
        Field("shows", Many(TEXT), "templates of log lines to look at before answering"),
        Field("where", Leaf("text", WHERE), "where that line must stand, seen from the failure"),
        Field("usual", Table(Leaf("any")), "release range -> vLLM's own default"),
        Field("example", Leaf("any"), "a value as people type it"),
        Field("chosen", Leaf("bool"), "the user's own choice: the cause does not hang on it"),
    ),
)
DERIVED = Shape(
    "derived",
    (
        Field("type", Leaf("text", TYPES), "type of the result", required=True),
        Field("from", EXPRESSION, "expression over inputs and earlier derived values", True),
    ),
)
CHECK = Shape(
    "check",
    (
        Field("id", WORD, "name of the branch", required=True),
        Field("vllm", RANGE, "releases in which the branch counts"),
        Field("when", EXPRESSION, "condition; the first check that holds is the cause", True),
        Field("cause", TEMPLATE, "what is wrong, with the values", required=True),
        Field("fixes", Many(WORD), "ids of the fixes for this cause"),
        Field("next_step", TEMPLATE, "what to look at or collect when no fix can be offered"),
    ),
)
COMPARED = Shape(
    "compared",
    (
        Field("vllm", TEXT, "release whose function was called", required=True),
        Field("combinations", Leaf("int"), "number of value combinations", required=True),
        Field("raised", Leaf("int"), "how many of them vLLM refused", required=True),
        Field("mismatches", Leaf("int"), "how many our expression judged otherwise", True),
    ),
)
GUARD = Shape(
    "guard",
    (
        Field("vllm", RANGE, "releases in which the condition reads like this"),
        Field("accepts", EXPRESSION, "true for the values that vLLM lets pass", required=True),
        Field("mirrors", TEXT, "package.module:function that holds the condition"),
        Field("call", TEXT, "id of the caller that runs the real function"),
        Field(
            "with", Table(EXPRESSION, NAME), "input of the caller -> its value, where named apart"
        ),
        Field("compared", Many(COMPARED), "comparisons with the real function"),
    ),
)
SOLVE = Shape(
    "solve",
    (
        Field(
            "vary",
            Table(Many(Either((EXPRESSION,))), NAME),
            "input -> values to try, the smallest change first",
            required=True,
        ),
        Field("cost", EXPRESSION, "number; the accepted values with the lowest cost win", True),
    ),
)
PROOF = Shape(
    "proof",
    (
        Field("level", Leaf("text", PROOFS), "how the fix was shown to work", required=True),
        Field("vllm", RANGE, "releases for which that holds"),
        Field("note", TEXT, "what was run or read, one sentence"),
        Field("evidence", Many(TEXT), "files of the tests, or path:function in vLLM"),
    ),
)
FIX = Shape(
    "fix",
    (
        Field("title", TEMPLATE, "what to do, short", required=True),
        Field("side", Leaf("text", SIDES), "where it is done"),
        Field("kind", Leaf("text", FIX_KINDS), "what is changed"),
        Field("vllm", RANGE, "releases in which it works"),
        Field("when", EXPRESSION, "condition under which it applies"),
        Field("sets", Table(EXPRESSION, NAME), "input -> its new value"),
        Field("solve", SOLVE, "search for the new values"),
        Field("applies", Table(TEMPLATE), "flag, dotted config key or ENV name -> new value"),
        Field("removes", Many(TEXT), "flags, keys or ENV names that are taken away"),
        Field("snippet", TEMPLATE, "exact text for the clipboard"),
        Field("changes", TEMPLATE, "what it costs, and which side must restart", required=True),
        Field("proof", PROOF, "how it was shown to work"),
    ),
)
RELATED = Shape(
    "related",
    (
        Field("id", WORD, "the other record", required=True),
        Field("kind", Leaf("text", RELATIONS), "how it is related", required=True),
        Field("why", TEXT, "one clause for people"),
    ),
)
ADVICE = Shape(
    "advice",
    (
        Field("says", TEXT, "the advice, in our words", required=True),
        Field("verdict", Leaf("any"), "true, false or a word between", required=True),
        Field("instead", TEXT, "what really happens"),
    ),
)
PUBLISHED = Shape(
    "published",
    (
        Field("id", TEXT, "id of the published record"),
        Field("slug", TEXT, "its readable name"),
        Field("url", TEXT, "its address"),
        Field("advice", Many(ADVICE), "what it advises, and what became of that"),
    ),
)
EXPECT = Shape(
    "expect",
    (
        Field("check", WORD, "id of the check that holds"),
        Field("values", Table(Leaf("any"), NAME), "values that must have been read or derived"),
        Field("snippets", Table(Leaf("any"), ID), "fix -> exact snippet, null when not offered"),
        Field("asks", Many(TEXT), "inputs that are asked for"),
        Field("belongs_to", TEXT, "near miss: the record that owns the log, or none"),
        Field("behind", TEXT, "the record whose error is shown first, before this record's own"),
    ),
)
EXAMPLE = Shape(
    "example",
    (
        Field("name", TEXT, "what is special about this log", required=True),
        Field("vllm", TEXT, "release of the log; the log itself need not say it"),
        Field("log", TEXT, "the text as a person would paste it", required=True),
        Field("answers", Table(Leaf("any"), NAME), "answers to the questions"),
        Field("expect", EXPECT, "what must come out", required=True),
    ),
)
RECORD = Shape(
    "record",
    (
        Field("id", WORD, "name of the record and of its file, never reused", required=True),
        Field("title", TEXT, "the symptom in one line", required=True),
        Field("status", Leaf("text", STATUS), "proven: every fix was shown to work", True),
        Field("severity", Leaf("text", SEVERITY), "error when not given"),
        Field("kind", Leaf("text", KINDS), "how the failure shows itself; raise when not given"),
        Field("owner", TEXT, "whose message it is; vllm when not given"),
        Field("area", WORD, "group of records; the folder's name when not given"),
        Field("connectors", Many(TEXT), "connectors that can fail like this; none: any"),
        Field("tags", Many(TEXT), "words people search for"),
        Field("stage", Leaf("int"), "when vLLM gets there, 10 (arguments) to 90 (serving)"),
        Field("step", Leaf("text", STEPS), "where a request fails, if the stage does not tell"),
        Field("summary", TEXT, "what happened, two sentences at most", required=True),
        Field("seen_in", Many(SEEN_IN, single=True), "releases and places", required=True),
        Field(
            "identify",
            Either((Many(IDENTIFY), IDENTIFY_ANY)),
            "how the failure is recognised; any of the entries",
            required=True,
        ),
        Field("inputs", Table(INPUT, NAME), "values that the checks need"),
        Field("derive", Table(DERIVED, NAME), "values worked out from them"),
        Field("checks", Many(CHECK), "the decision tree", required=True),
        Field("guard", Many(GUARD, single=True), "vLLM's own condition"),
        Field("fixes", Table(FIX, ID), "fixes by id"),
        Field("danger", EXPRESSION, "true for configurations that harm without an error"),
        Field("related", Many(RELATED), "other records"),
        Field("published", Many(PUBLISHED), "where the failure was written about"),
        Field("examples", Many(EXAMPLE), "logs with what must come out of them", required=True),
    ),
)
