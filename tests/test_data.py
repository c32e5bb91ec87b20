"""The project's own data classes behave as the standard ones do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Mapping

import pytest

from kvdoctor.data import asdict, dataclass, field, replace


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
