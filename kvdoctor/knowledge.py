"""The knowledge as the later stages ask for it: records by id, messages, relations, search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache

from kvdoctor.data import NamedTuple, dataclass, field
from kvdoctor.errors import KvdoctorError
from kvdoctor.reach import Reach, reach_of
from kvdoctor.record import Identify, Record, Wrapper
from kvdoctor.scalars import UNKNOWN, read_value
from kvdoctor.text.gramindex import PatternIndex
from kvdoctor.text.phrase import is_regex
from kvdoctor.text.template import Hit, Pattern, Skeleton

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kvdoctor.catalogue.foreign import ForeignMessages
    from kvdoctor.catalogue.sites import Sites
    from kvdoctor.intake.release import Reading
    from kvdoctor.search import Shelves
    from kvdoctor.values.table import Table

TELLING = 20  # literal characters that name a wrapper without its exception class
_NUMERIC = ("int", "number")


@dataclass(frozen=True, slots=True)
class Entry:
    """One way in which one record is recognised; ``types``: its holes that hold numbers."""

    record: str
    identify: Identify
    types: Mapping[str, str] = field(default_factory=dict)


class Found(NamedTuple):
    """One result of a search over the records."""

    id: str
    title: str
    score: float


@lru_cache(maxsize=4096)
def _pattern(template: str, types: tuple[tuple[str, str], ...]) -> Pattern:
    return Pattern.compile(template, dict(types))


def _may_begin(template: str, chars: str) -> bool:
    """Whether a text without white space may begin as the template does: spares its compilation."""
    head = template[:6]
    return not head.isalnum() or chars.startswith(head[: len(chars)]) or is_regex(template)


def entries_of(record: Record) -> tuple[Entry, ...]:
    """The identify entries of a record with the types of their holes."""
    types = {n: spec.type for n, spec in record.inputs.items() if spec.type in _NUMERIC}
    return tuple(Entry(record.id, entry, types) for entry in record.identify)


@dataclass(frozen=True)
class Knowledge:
    """Everything that was loaded.

    Only ``records`` need be given (tests do); what is missing is worked out from them. ``problems``
    tell what was left out. ``published`` maps published ids, slugs and urls to record ids."""

    records: Mapping[str, Record] = field(default_factory=dict)
    wrappers: tuple[Wrapper, ...] = ()
    symptoms: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[KvdoctorError, ...] = ()
    published: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    trees: Mapping[str, Any] = field(default_factory=dict)  # other files, by name without ending
    sites_folder: str = ""
    known_entries: tuple[Entry, ...] | None = field(default=None, repr=False)
    known_relations: tuple[tuple[str, str, str, str], ...] | None = field(default=None, repr=False)
    known_guarded: tuple[str, ...] | None = field(default=None, repr=False)
    known_dangerous: tuple[str, ...] | None = field(default=None, repr=False)
    known_reach: Mapping[str, Reach] = field(default_factory=dict, repr=False)
    known_index: PatternIndex | None = field(default=None, repr=False)
    known_wrapper_index: PatternIndex | None = field(default=None, repr=False)

    @cached_property
    def sites(self) -> Sites:
        """The catalogue of vLLM's own error sites; empty when there is none."""
        from kvdoctor.catalogue.sites import Sites

        return Sites(self.sites_folder)

    @cached_property
    def reading(self) -> Reading:
        """What the intake needs: messages that quote others, and what tells a release."""
        from kvdoctor.intake.release import Fingerprints, Reading

        banners = list(self.trees.get("releases", {}).get("banners", ()))
        for line in self.trees.get("values", {}).get("lines", ()):
            if "{version}" in line["message"] and line["message"] not in banners:
                banners.append(line["message"])
        places = self.sites.fingerprints if self.sites.releases else None
        images = tuple(self.trees.get("releases", {}).get("images", ()))
        return Reading(self.wrappers, Fingerprints(tuple(banners), places, images))

    @cached_property
    def foreign(self) -> ForeignMessages:
        """What the libraries below vLLM say, and what it means."""
        from kvdoctor.catalogue.foreign import ForeignMessages

        return ForeignMessages(self.trees.get("foreign", ()))

    @cached_property
    def value_table(self) -> Table:
        """Where vLLM prints its values, how its options are spelled, what it assumes."""
        from kvdoctor.values.table import load_table

        return load_table(self.trees.get("values", {}))

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Identify entries of all records that are not retired."""
        if self.known_entries is not None:
            return self.known_entries
        live = (record for record in self.records.values() if record.status != "retired")
        return tuple(entry for record in live for entry in entries_of(record))

    @cached_property
    def index(self) -> PatternIndex:
        """Finds the entries a message may be; keys are positions in ``entries``, as text."""
        if self.known_index is not None:
            return self.known_index
        return PatternIndex.build(
            (str(number), entry.identify.message)
            for number, entry in enumerate(self.entries)
            if entry.identify.message
        )

    def claims(
        self, message: str, *, anywhere: bool = False
    ) -> Iterator[tuple[Record, Identify, Hit]]:
        """Records with an entry whose message fits; ``anywhere``: within a longer text too.

        A hole whose text is no value of its declared type is left out of the hit."""
        text = Skeleton(message)
        for number in self.index.among(text.chars):
            entry = self.entries[int(number)]
            hit = _fit(entry, text, anywhere)
            if hit is not None:
                yield self.records[entry.record], entry.identify, hit

    @cached_property
    def _by_frame(self) -> Mapping[str, tuple[Entry, ...]]:
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if entry.identify.frame and not entry.identify.message:
                found.setdefault(entry.identify.frame, []).append(entry)
        return {frame: tuple(entries) for frame, entries in found.items()}

    def frame_claims(self, frame: str) -> Iterator[tuple[Record, Identify]]:
        """Records with an entry without a message for the innermost frame "path:function"."""
        for entry in self._by_frame.get(frame, ()):
            yield self.records[entry.record], entry.identify

    def fits(self, template: str, message: str | Skeleton) -> Hit | None:
        """``message`` matched against one template."""
        return _pattern(template, ()).match(message)

    @cached_property
    def _wrapper_index(self) -> PatternIndex:
        if self.known_wrapper_index is not None:
            return self.known_wrapper_index
        return PatternIndex.build(
            (str(number), wrapper.message) for number, wrapper in enumerate(self.wrappers)
        )

    def wrapper_of(self, message: str, exception: str = "") -> Wrapper | None:
        """The wrapper that ``message`` is; ``exception`` without module, "" when unknown. A short
        text that belongs to an exception class is no wrapper without that class."""
        text = Skeleton(message)
        name = exception.rpartition(".")[2]
        for wrapper in self.wrappers:
            if wrapper.exception and name and wrapper.exception != name:
                continue
            if not _may_begin(wrapper.message, text.chars):
                continue
            hit = _pattern(wrapper.message, ()).match(text)
            if hit is None or (wrapper.exception and not name and hit.literal_chars < TELLING):
                continue
            if hit.complete or hit.literal_chars * 10 >= hit.total_chars * 9:
                return wrapper
        return None

    @cached_property
    def _relations(self) -> tuple[tuple[str, str, str, str], ...]:
        if self.known_relations is not None:
            return self.known_relations
        return tuple(
            (record.id, one.id, one.kind, one.why)
            for record in self.records.values()
            for one in record.related
        )

    def relations_to(self, record_id: str) -> tuple[tuple[str, str, str], ...]:
        """(other record, kind, why) of every record that names this one."""
        return tuple(
            (source, kind, why)
            for source, target, kind, why in self._relations
            if target == record_id
        )

    def leads_to(self, first: str, second: str) -> bool:
        """Whether the failure ``first`` is stated to lead to ``second``."""
        return any(
            source == first and target == second and kind == "leads-to"
            for source, target, kind, _ in self._relations
        )

    @cached_property
    def guarded(self) -> tuple[str, ...]:
        """Ids of the records that know vLLM's own condition."""
        if self.known_guarded is not None:
            return self.known_guarded
        return tuple(id_ for id_, record in self.records.items() if record.guards)

    @cached_property
    def dangerous(self) -> tuple[str, ...]:
        """Ids of the records that know a configuration which harms without an error."""
        if self.known_dangerous is not None:
            return self.known_dangerous
        return tuple(id_ for id_, record in self.records.items() if record.danger)

    def reach(self, record_id: str) -> Reach:
        """What the record's guard and danger can be decided by; known without decoding it."""
        known = self.known_reach.get(record_id) or self._reaches.get(record_id)
        if known is None:
            known = self._reaches[record_id] = reach_of(self.records[record_id])
        return known

    @cached_property
    def _reaches(self) -> dict[str, Reach]:
        """What was worked out because no compiled form told it."""
        return {}

    def resolve(self, what: str) -> str | None:
        """The record meant by its id, or by a published id, slug or url."""
        if what in self.records:
            return what
        bare = what.strip().partition("#")[0].partition("?")[0].rstrip("/")
        for name in (what, bare, bare.rpartition("/")[2]):
            if name in self.published or name in self.records:
                return self.published.get(name, name)
        return next(
            (record for name, record in self.published.items() if name.rstrip("/") == bare), None
        )

    def search(self, words: str, most: int = 20) -> tuple[Found, ...]:
        """Records that speak of ``words``, best first."""
        from kvdoctor.search import search

        return tuple(Found(*row) for row in search(self._shelves, words, most))

    @cached_property
    def _shelves(self) -> Shelves:
        from kvdoctor.search import shelved

        return shelved(self.records.values())


def with_records(knowledge: Knowledge, records: Iterable[Record]) -> Knowledge:
    """``knowledge`` with further records, which take the place of those of the same id."""
    every = {**knowledge.records, **{record.id: record for record in records}}
    published = dict(knowledge.published)
    for record in every.values():
        for one in record.published:
            for name in (one.id, one.slug, one.url):
                if name:
                    published[name] = record.id
    return Knowledge(
        records=every,
        wrappers=knowledge.wrappers,
        symptoms=knowledge.symptoms,
        problems=knowledge.problems,
        published=published,
        paths=knowledge.paths,
        trees=knowledge.trees,
        sites_folder=knowledge.sites_folder,
    )


def _fit(entry: Entry, text: Skeleton, anywhere: bool) -> Hit | None:
    """The hit of an entry; a message whose numbers are not numbers is still that message."""
    hit = _look(entry.identify.message, tuple(entry.types.items()), text, anywhere)
    if entry.types and (hit is None or not hit.complete):
        loose = _look(entry.identify.message, (), text, anywhere)
        if loose is not None and (hit is None or loose.complete):
            hit = loose
    if hit is None:
        return None
    holes = {
        name: value
        for name, value in hit.holes.items()
        if name not in entry.types or read_value(value, entry.types[name]) is not UNKNOWN
    }
    return Hit(holes, hit.literal_chars, hit.total_chars, hit.complete, hit.start, hit.end)


def _look(
    template: str, types: tuple[tuple[str, str], ...], text: Skeleton, anywhere: bool
) -> Hit | None:
    pattern = _pattern(template, types)
    return pattern.search(text) if anywhere else pattern.match(text)
