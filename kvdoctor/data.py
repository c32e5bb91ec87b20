"""Data classes that cost next to nothing to define.

The standard ones are written as source text and compiled class by class when a module is imported,
which would be a third of a short diagnosis. These have the same names and the same behaviour for
what kvdoctor uses of it (slots, frozen, defaults, equality, hash, repr, ``replace``); type checkers
see the standard ones, and the functions of :mod:`dataclasses` accept their instances too.
"""

from __future__ import annotations

__all__ = ["NamedTuple", "asdict", "dataclass", "derive", "field", "replace"]

TYPE_CHECKING = False  # type checkers take it for true; importing typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import asdict, dataclass, field, replace
    from typing import Any, NamedTuple, TypeVar

    One = TypeVar("One")

    def derive(
        cls: type[One], name: str, made: Callable[[Callable[[One], Any]], Callable[[One], Any]]
    ) -> None: ...
else:
    from operator import attrgetter, itemgetter

    _OFTEN = 300  # instances after which a class gets an ``__init__`` of its own
    _NEEDED = object()  # the default of a field that has none

    class _Spec:
        """What ``field()`` says about one field."""

        __slots__ = ("compare", "default", "factory", "repr")

        def __init__(self, default=_NEEDED, factory=None, repr=True, compare=True):  # noqa: A002
            self.default, self.factory, self.repr, self.compare = default, factory, repr, compare

    def field(*, default=_NEEDED, default_factory=None, repr=True, compare=True):  # noqa: A002
        return _Spec(default, default_factory, repr, compare)

    def dataclass(cls=None, *, frozen=False, slots=False):
        if cls is None:
            return lambda cls: _made(cls, frozen, slots)
        return _made(cls, frozen, slots)

    def replace(one, /, **changes):
        cls = type(one)
        values = [
            changes.pop(name) if name in changes else getattr(one, name)
            for name in cls.__match_args__
        ]
        return cls(*values, **changes)  # a name that is left is refused as unknown

    def asdict(one):
        import dataclasses

        return dataclasses.asdict(one)

    def derive(cls, name, made):
        """Work the field ``name`` of a class with slots out whenever it is asked for: ``made`` is
        called once, with what gives the kept value of an object, and gives what is to be seen."""
        setattr(cls, name, property(made(cls.__dict__[name].__get__)))

    def _made(cls, frozen, slots):
        names = tuple(cls.__annotations__)
        specs = [_spec(cls.__dict__.get(name, _NEEDED)) for name in names]
        content = {name: value for name, value in cls.__dict__.items() if name not in names}
        content |= {
            "__match_args__": names,
            "__eq__": _equality([n for n, one in zip(names, specs, strict=True) if one.compare]),
            "__repr__": _repr([n for n, one in zip(names, specs, strict=True) if one.repr]),
            "__reduce__": lambda self: (type(self), tuple(getattr(self, n) for n in names)),
            "__hash__": None,
            "__dataclass_fields__": _Fields(names, specs),
        }
        if frozen:
            look = _values([n for n, one in zip(names, specs, strict=True) if one.compare])
            content |= {
                "__hash__": lambda self: hash(look(self)),
                "__setattr__": _refuse,
                "__delattr__": _refuse,
            }
        content.pop("__dict__", None)
        content.pop("__weakref__", None)
        if slots:
            content["__slots__"] = names
        made = type(cls)(cls.__name__, cls.__bases__, content)
        made.__qualname__ = cls.__qualname__
        puts = [made.__dict__[name].__set__ if slots else _putter(name) for name in names]
        made.__init__ = _initialiser(cls.__name__, names, specs, puts)
        return made

    def _spec(value):
        return value if isinstance(value, _Spec) else _Spec(value)

    def _putter(name):
        return lambda self, value: object.__setattr__(self, name, value)

    def _initialiser(title, names, specs, puts):
        count = len(names)
        places = {name: place for place, name in enumerate(names)}
        plain = tuple(one.default for one in specs)
        bare = [place for place, one in enumerate(specs) if one.default is _NEEDED]
        least = bare[-1] + 1 if bare else 0  # of so many values the rest have plain defaults

        def complete(given, named):
            """All values in order; raises TypeError as a written-out ``__init__`` would."""
            have = len(given)
            if have > count:
                raise TypeError(f"{title}() takes {count} values, {have} were given")
            values = [*given, *plain[have:]]
            for name, value in named.items():
                place = places.get(name, -1)
                if place < have:
                    raise TypeError(f"{title}() does not take {name!r}, or has it already")
                values[place] = value
            for place in bare:
                if values[place] is _NEEDED:
                    factory = specs[place].factory
                    if factory is None:
                        raise TypeError(f"{title}() misses {names[place]!r}")
                    values[place] = factory()
            return values

        calls = 0

        def __init__(self, *given, **named):  # noqa: N807 - becomes the method of that name
            nonlocal calls
            calls += 1
            if calls == _OFTEN:
                type(self).__init__ = _written_out(names, specs, puts)
            if named or not least <= len(given) <= count:
                given = complete(given, named)
            elif len(given) < count:
                given += plain[len(given) :]
            for put, value in zip(puts, given):  # noqa: B905 - strict costs time, lengths agree
                put(self, value)

        return __init__

    def _written_out(names, specs, puts):
        """The ``__init__`` that the standard library would write: worth its compilation for a
        class of which there are many."""
        known = {"_NEEDED": _NEEDED, "__builtins__": {}}
        takes, body = ["self"], []
        for place, (name, one, put) in enumerate(zip(names, specs, puts, strict=True)):
            known[f"_put{place}"] = put
            value = name
            if one.factory is not None:
                known[f"_make{place}"] = one.factory
                takes.append(f"{name}=_NEEDED")
                value = f"_make{place}() if {name} is _NEEDED else {name}"
            elif one.default is _NEEDED:
                takes.append(name)
            else:
                known[f"_default{place}"] = one.default
                takes.append(f"{name}=_default{place}")
            body.append(f"    _put{place}(self, {value})")
        exec("\n".join([f"def __init__({', '.join(takes)}):", *body]), known)  # noqa: S102
        return known["__init__"]

    class _Tuples(type):
        """Makes a class of annotated fields a tuple with names, as ``typing.NamedTuple`` does."""

        def __new__(mcs, title, bases, content):
            made = super().__new__(mcs, title, bases, {**content, "__slots__": ()})
            names = tuple(made.__annotations__)
            made._fields = made.__match_args__ = names
            made._field_defaults = {name: content[name] for name in names if name in content}
            for place, name in enumerate(names):
                setattr(made, name, property(itemgetter(place)))
            return made

    class NamedTuple(tuple, metaclass=_Tuples):
        def __new__(cls, *given, **named):
            names = cls._fields
            if len(given) != len(names) or named:
                given = cls._complete(given, named)
            return tuple.__new__(cls, given)

        @classmethod
        def _complete(cls, given, named):
            values = {**cls._field_defaults, **dict(zip(cls._fields, given, strict=False)), **named}
            twice = named.keys() & set(cls._fields[: len(given)])
            if len(given) > len(cls._fields) or twice or values.keys() != set(cls._fields):
                raise TypeError(f"{cls.__name__}() takes {', '.join(cls._fields)}")
            return [values[name] for name in cls._fields]

        def _replace(self, /, **changes):
            return type(self)(**{**self._asdict(), **changes})

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            shown = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({shown})"

    def _values(names):
        """The named attributes of an object in a form that can be compared and hashed."""
        return attrgetter(*names) if names else lambda self: ()

    def _equality(names):
        look = _values(names)

        def __eq__(self, other):  # noqa: N807 - becomes the method of that name
            if other.__class__ is not self.__class__:
                return NotImplemented
            return look(self) == look(other)

        return __eq__

    def _repr(names):
        def __repr__(self):  # noqa: N807 - becomes the method of that name
            shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
            return f"{type(self).__qualname__}({shown})"

        return __repr__

    def _refuse(self, name, value=None):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot change field {name!r}")

    class _Fields:
        """``__dataclass_fields__``, made when a function of the standard library asks for it."""

        def __init__(self, names, specs):
            self.names, self.specs, self.made = names, specs, None

        def __get__(self, _one, cls):
            if self.made is None:
                import dataclasses

                rows = [
                    (name, cls.__annotations__[name], dataclasses.field(**_arguments(spec)))
                    for name, spec in zip(self.names, self.specs, strict=True)
                ]
                self.made = dataclasses.make_dataclass(cls.__name__, rows).__dataclass_fields__
            return self.made

    def _arguments(spec):
        found = {"repr": spec.repr, "compare": spec.compare}
        if spec.factory is not None:
            found["default_factory"] = spec.factory
        elif spec.default is not _NEEDED:
            found["default"] = spec.default
        return found
