"""The project's own data classes behave as the standard ones do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Mapping

import pytest

from kvdoctor.data import NamedTuple, asdict, dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Place:
    file: str
    line: int = 1
    notes: Mapping[str, str] = field(default_factory=dict, compare=False)
    hidden: str = field(default="", repr=False)


@dataclass(slots=True)
class Counter:
    total: int = 0
    seen: list[int] = field(default_factory=list)


def test_values_are_given_by_place_by_name_or_by_default() -> None:
    assert Place("a.py", 3) == Place(line=3, file="a.py")
    assert (Place("a.py").line, Place("a.py").notes) == (1, {})


def test_a_factory_makes_a_new_value_for_each_object() -> None:
    first, second = Counter(), Counter()
    first.seen.append(1)
    first.total += 1
    assert (second.seen, second.total) == ([], 0)


@pytest.mark.parametrize(
    ("given", "named"), [((), {}), (("a", 1, {}, "", 5), {}), (("a",), {"file": "b"})]
)  # fmt: skip
def test_a_wrong_call_is_refused(given: tuple[object, ...], named: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=r"^Place\(\)"):
        Place(*given, **named)  # type: ignore[arg-type]


def test_a_frozen_object_cannot_be_changed() -> None:
    place = Place("a.py")
    with pytest.raises(dataclasses.FrozenInstanceError):
        place.line = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del place.line
    with pytest.raises(AttributeError):
        Counter().other = 1  # type: ignore[attr-defined]


def test_equality_and_hash_go_by_the_compared_fields() -> None:
    one, two = Place("a.py", notes={"a": "b"}), Place("a.py")
    assert one == two
    assert hash(one) == hash(two)
    assert one != Place("a.py", 2)
    assert one != "a.py"
    with pytest.raises(TypeError):
        hash(Counter())


def test_the_repr_shows_what_it_may() -> None:
    assert repr(Place("a.py", hidden="x")) == "Place(file='a.py', line=1, notes={})"


def test_a_changed_copy_keeps_the_rest() -> None:
    place = Place("a.py", 7, {"a": "b"}, "x")
    assert replace(place, file="b.py") == Place("b.py", 7, {}, "x")
    assert replace(place, file="b.py").notes == {"a": "b"}
    with pytest.raises(TypeError):
        replace(place, colour="red")


def test_the_standard_functions_take_them_too() -> None:
    place = Place("a.py", 7)
    assert dataclasses.replace(place, line=8) == Place("a.py", 8)
    assert [one.name for one in dataclasses.fields(place)] == ["file", "line", "notes", "hidden"]
    assert asdict(place) == {"file": "a.py", "line": 7, "notes": {}, "hidden": ""}


def test_they_can_be_copied_and_pickled() -> None:
    place = Place("a.py", 7, {"a": "b"})
    assert copy.deepcopy(place) == pickle.loads(pickle.dumps(place)) == place  # noqa: S301
    match place:
        case Place(file, line):
            assert (file, line) == ("a.py", 7)


class Point(NamedTuple):
    name: str
    at: int = 1

    @property
    def twice(self) -> int:
        return 2 * self.at


class Bare(NamedTuple):
    value: object


def test_a_named_tuple_is_a_tuple_with_names() -> None:
    one = Point("a", 3)
    name, at = one
    assert (name, at, one.name, one.at, one.twice) == ("a", 3, "a", 3, 6)
    assert one == ("a", 3)
    assert hash(one) == hash(("a", 3))
    assert Point(at=3, name="a") == one
    assert Point("b") == ("b", 1)
    assert one._replace(at=4) == Point("a", 4)
    assert (repr(one), repr(Bare(None))) == ("Point(name='a', at=3)", "Bare(value=None)")
    assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == one  # noqa: S301
    with pytest.raises(AttributeError):
        one.other = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        one.at = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "named"), [((), {}), (("a", 1, 2), {}), (("a",), {"name": "b"}), (("a",), {"x": 1})]
)
def test_a_named_tuple_refuses_wrong_fields(
    given: tuple[object, ...], named: dict[str, object]
) -> None:
    with pytest.raises(TypeError, match=r"^Point\(\)"):
        Point(*given, **named)  # type: ignore[arg-type]


def test_a_class_of_many_objects_behaves_as_before() -> None:
    """After some hundred objects the class gets a quicker way to make them."""
    for number in range(1000):
        place = Place("a.py", number, hidden="x")
        assert (place.file, place.line, place.notes, place.hidden) == ("a.py", number, {}, "x")
        assert Counter().seen == []
    assert Place("a.py", 1).notes is not Place("a.py", 1).notes
    with pytest.raises(TypeError):
        Place()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Place("a", 1, {}, "", 5)  # type: ignore[call-arg]
