"""The knowledge of the values stage as typed values: which lines state what, how flags are
spelled, what a release assumes when nothing is said. :func:`load_table` makes it from plain data
(what YAML or JSON gives); nothing here reads a file except :func:`builtin_table`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from kvdoctor.data import dataclass, field
from kvdoctor.errors import RecordError
from kvdoctor.text.template import Pattern
from kvdoctor.values.value import Scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

FORMS = ("literal", "exact", "pairs", "labels")
TYPES = ("auto", "int", "number", "text", "bool", "dtype", "plus_one", "release")
CERTAINTIES = ("stated", "inferred", "usual")
_HOLE = re.compile(r"\{([A-Za-z_]\w*)\}")
ORDINARY = 50  # rank of a source when the data gives none; smaller is better


@dataclass(frozen=True, slots=True)
class Reads:
    """How one value is taken: from the hole (or key) ``source``, or the constant ``fixed``."""

    name: str
    source: str = ""
    fixed: Scalar = None
    constant: bool = False
    type: str = "auto"
    side: str = "this"  # this, other, prefill, decode
    certainty: str = "stated"
    why: str = ""
    rank: int = ORDINARY
    words: Mapping[str, Scalar] = field(default_factory=dict)  # word as printed → value
    skip: tuple[Scalar, ...] = ()  # printed values that say nothing
    doubt: tuple[Scalar, ...] = ()  # printed values that hold only when ``unless`` is false
    unless: str = ""  # name of a value of the same server


@dataclass(frozen=True, slots=True)
class TreeSpec:
    """A hole that holds a structure. Without ``keys`` every key is read under its own name.

    Forms: ``literal`` (a repr; of a cut one, what is complete), ``exact`` (a repr that counts only
    as a whole), ``pairs`` (key=value, …), ``labels`` (key="value",…)."""

    hole: str
    form: str = "literal"
    keys: Mapping[str, tuple[Reads, ...]] = field(default_factory=dict)
    rank: int = ORDINARY
    why: str = ""
    settles: bool = False  # a missing key means the default
    only: frozenset[str] = frozenset()  # names that are read; empty: all of them
    # key → name of a text that is empty where the key is printed with nothing
    empty: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LineSpec:
    """One message of the log and the values it states."""

    id: str
    message: str
    anchor: str
    vllm: str = ""
    reads: tuple[Reads, ...] = ()
    trees: tuple[TreeSpec, ...] = ()
    marks: tuple[str, ...] = ()  # "start": a server begins here; "planned": KV memory is laid out
    anywhere: bool = False  # the template may stand in the middle of the message
    types: tuple[tuple[str, str], ...] = ()  # holes that take nothing but a number

    @property
    def pattern(self) -> Pattern:
        return _compiled(self.message, self.types)


@lru_cache(maxsize=512)
def _compiled(message: str, types: tuple[tuple[str, str], ...]) -> Pattern:
    """Compiled when first needed: a short paste touches few of the lines."""
    return Pattern.compile(message, dict(types))


@dataclass(frozen=True, slots=True)
class Flags:
    """How ``vllm serve`` spells its options, over all releases; names without dashes."""

    short: Mapping[str, str] = field(default_factory=dict)  # "-tp" → tensor_parallel_size
    booleans: frozenset[str] = frozenset()
    many: frozenset[str] = frozenset()  # take every word up to the next option
    sizes: frozenset[str] = frozenset()  # accept 8k, 2M
    known: frozenset[str] = frozenset()
    rename: Mapping[str, str] = field(default_factory=dict)  # old or other spelling → name
    roles: Mapping[str, str] = field(default_factory=dict)  # "is_prefill_worker" → side

    def name(self, written: str) -> str:
        """The value name of an option or key as written: dashes, dots and case put right."""
        plain = written.lstrip("-").replace("-", "_")
        return self.rename.get(plain, plain)


@dataclass(frozen=True, slots=True)
class Default:
    """A default of a release. ``settled``: vLLM never changes it later on, so that an argument
    that is missing from a complete list states it."""

    name: str
    value: Scalar
    vllm: str = ""
    settled: bool = False


@dataclass(frozen=True, slots=True)
class Follows:
    """A value that follows from what a complete start-up log shows and what it does not."""

    name: str
    value: Scalar
    why: str
    when: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    never: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    mark: str = ""
    vllm: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Everything the values stage knows about vLLM's texts."""

    lines: tuple[LineSpec, ...] = ()
    flags: Flags = Flags()
    rename: Mapping[str, str] = field(default_factory=dict)  # keys of structures
    ranks: Mapping[str, str] = field(default_factory=dict)  # "TP" → tensor_parallel_size
    defaults: tuple[Default, ...] = ()
    follows: tuple[Follows, ...] = ()
    environment: tuple[str, ...] = ()  # prefixes of variables that matter
    roles: Mapping[str, str] = field(default_factory=dict)  # kv_producer → prefill
    model: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # config.json: name → keys
    mla_models: frozenset[str] = frozenset()
    recurrent_layers: frozenset[str] = frozenset()  # layer types with a state instead of keys
    manifest: Mapping[str, str] = field(default_factory=dict)  # "parallelism.tensor" → name
    unsaid: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)  # key → values that
    # vLLM prints without having been told

    def names(self) -> frozenset[str]:
        """Names that the lines, options, defaults and model configurations give; keys of the
        transfer configuration, ``extra.…`` and variables come on top."""
        reads = [one for line in self.lines for one in line.reads]
        trees = [tree for line in self.lines for tree in line.trees]
        reads += [one for tree in trees for some in tree.keys.values() for one in some]
        found = {one.name for one in reads} | {one.name for one in self.defaults}
        found |= {one.name for one in self.follows} | set(self.model) | set(self.ranks.values())
        found |= {name for tree in trees for name in tree.only}
        flags = self.flags
        return frozenset(found | flags.known | flags.booleans | flags.many | set(self.unsaid))


def load_table(data: Mapping[str, object]) -> Table:
    """The table of plain data; raises RecordError naming the entry that breaks the form."""
    flags = _map(data, "flags")
    model = _map(data, "model_config")
    return Table(
        lines=tuple(_line(_as_map(one, "lines")) for one in _list(data, "lines")),
        flags=Flags(
            short=_texts(flags, "short"),
            booleans=frozenset(_words(flags, "booleans")),
            many=frozenset(_words(flags, "many")),
            sizes=frozenset(_words(flags, "sizes")),
            known=frozenset(_words(flags, "known")),
            rename=_texts(flags, "rename"),
            roles=_texts(flags, "roles"),
        ),
        rename=_texts(data, "rename"),
        ranks=_texts(data, "ranks"),
        defaults=tuple(_default(_as_map(one, "defaults")) for one in _list(data, "defaults")),
        follows=tuple(_follows(_as_map(one, "follows")) for one in _list(data, "follows")),
        environment=_words(data, "environment"),
        roles=_texts(data, "roles"),
        model={name: tuple(map(str, _seq(keys))) for name, keys in _map(model, "names").items()},
        mla_models=frozenset(_words(model, "mla_models")),
        recurrent_layers=frozenset(_words(model, "recurrent_layers")),
        manifest=_texts(data, "manifest"),
        unsaid={
            name: tuple(_plain(one) for one in _seq(values))
            for name, values in _map(data, "unsaid").items()
        },
    )


def builtin_table() -> Table:
    """The table of the installed knowledge; an empty one when there is none."""
    from pathlib import Path

    here = Path(__file__).resolve()
    for folder in (here.parents[1] / "knowledge", here.parents[2] / "knowledge"):
        file = folder / "values.yaml"
        if file.is_file():
            return load_table(read_yaml_file(file))
    return Table()


def read_yaml_file(file: Path) -> Mapping[str, object]:
    """The mapping in a YAML file of our own."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data = yaml.load(file.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 (safe loaders)
    return _as_map(data, file.name)


# -- one entry each ----------------------------------------------------------------------------


def _line(data: Mapping[str, object]) -> LineSpec:
    ident = str(data.get("id", ""))
    message = str(data.get("message", ""))
    if not ident or not message:
        raise RecordError("a line needs id and message", field=f"lines.{ident}")
    reads = tuple(
        one
        for name, how in _map(data, "values").items()
        for one in _reads(name, how, f"lines.{ident}.{name}")
    )
    types = tuple(
        (one.source, one.type)
        for one in reads
        if one.type in ("int", "number") and one.source
        and f"{{{one.source}}} tokens" not in message  # those have thousands separators
    )  # fmt: skip
    trees = tuple(
        _tree(hole, _as_map(how, ident), ident) for hole, how in _map(data, "trees").items()
    )
    wanted = {one.source for one in reads if not one.constant} | {tree.hole for tree in trees}
    if missing := wanted - set(_HOLE.findall(message)):
        raise RecordError(f"no hole {', '.join(sorted(missing))}", field=f"lines.{ident}")
    return LineSpec(
        ident, message, str(data.get("anchor", "")) or _anchor(message),
        str(data.get("vllm", "")), reads, trees, tuple(map(str, _seq(data.get("marks", ())))),
        bool(data.get("anywhere", False)), types,
    )  # fmt: skip


def _anchor(message: str) -> str:
    """The longest piece of the template's literal text: a line without it is not looked at."""
    literal = _HOLE.sub(" ", message).replace("{{", "{").replace("}}", "}")
    return max((piece.strip("'\"`") for piece in literal.split()), key=len, default="")


def _reads(name: str, how: object, place: str) -> tuple[Reads, ...]:
    """``name: hole``, ``name: {from: hole, …}``, or a list of such for several sides."""
    if isinstance(how, list):
        return tuple(one for item in how for one in _reads(name, item, place))
    if isinstance(how, str):
        return (Reads(name, how),)
    spec = _as_map(how, place)
    made = Reads(
        name=str(spec.get("name", name)),
        source=str(spec.get("from", "")),
        fixed=_plain(spec.get("is")),
        constant="is" in spec,
        type=str(spec.get("type", "auto")),
        side=str(spec.get("side", "this")),
        certainty=str(spec.get("certainty", "stated")),
        why=str(spec.get("why", "")),
        rank=int(str(spec.get("rank", ORDINARY))),
        words={word: _plain(value) for word, value in _map(spec, "words").items()},
        skip=tuple(_plain(one) for one in _seq(spec.get("skip", ()))),
        doubt=tuple(_plain(one) for one in _seq(spec.get("doubt", ()))),
        unless=str(spec.get("unless", "")),
    )
    if made.type not in TYPES or made.certainty not in CERTAINTIES:
        raise RecordError(f"unknown type or certainty of {name}", field=place)
    if not made.source and not made.constant:
        raise RecordError(f"{name} says neither from nor is", field=place)
    return (made,)


def _tree(hole: str, spec: Mapping[str, object], ident: str) -> TreeSpec:
    form = str(spec.get("form", "literal"))
    if form not in FORMS:
        raise RecordError(f"unknown form {form!r}", field=f"lines.{ident}.trees.{hole}")
    rank = int(str(spec.get("rank", ORDINARY)))
    keys: dict[str, tuple[Reads, ...]] = {}
    for key, how in _map(spec, "keys").items():
        items = how if isinstance(how, list) else [how]
        made: list[Reads] = []
        for item in items:
            if isinstance(item, str):
                made.append(Reads(item, key, rank=rank))
            else:
                one = {"from": key, "rank": rank, **_as_map(item, ident)}
                made += _reads(str(one.get("name", key)), one, f"lines.{ident}.{key}")
        keys[key] = tuple(made)
    return TreeSpec(
        hole, form, keys, rank, str(spec.get("why", "")),
        bool(spec.get("settles", False)), frozenset(_words(spec, "only")),
        {key: str(name) for key, name in _map(spec, "empty").items()},
    )  # fmt: skip


def _default(data: Mapping[str, object]) -> Default:
    return Default(
        str(data["name"]), _plain(data.get("value")), str(data.get("vllm", "")),
        bool(data.get("settled", False)),
    )  # fmt: skip


def _follows(data: Mapping[str, object]) -> Follows:
    def conditions(key: str) -> dict[str, tuple[Scalar, ...]]:
        return {
            name: tuple(_plain(one) for one in _seq(allowed))
            for name, allowed in _map(data, key).items()
        }

    return Follows(
        str(data["name"]), _plain(data.get("value")), str(data.get("why", "")),
        conditions("when"), conditions("never"), str(data.get("mark", "")),
        str(data.get("vllm", "")),
    )  # fmt: skip


# -- plain data --------------------------------------------------------------------------------


def _plain(value: object) -> Scalar:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _as_map(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise RecordError("a mapping is needed here", field=place)
    return value


def _map(data: Mapping[str, object], key: str) -> Mapping[str, object]:
    return _as_map(data.get(key) or {}, key)


def _seq(value: object) -> Sequence[object]:
    if isinstance(value, list | tuple):
        return value
    return (value,)


def _list(data: Mapping[str, object], key: str) -> Iterable[object]:
    return _seq(data.get(key) or ())


def _words(data: Mapping[str, object], key: str) -> tuple[str, ...]:
    """A list of words, or one text with words separated by white space."""
    value = data.get(key) or ()
    return tuple(value.split()) if isinstance(value, str) else tuple(map(str, _seq(value)))


def _texts(data: Mapping[str, object], key: str) -> dict[str, str]:
    return {str(name): str(value) for name, value in _map(data, key).items()}
