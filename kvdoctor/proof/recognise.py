"""Did *this* guard raise, or another one? Judged by the record's own texts."""

from __future__ import annotations

from collections.abc import Iterable

from kvdoctor.data import dataclass
from kvdoctor.record import Identify
from kvdoctor.text.template import Hit, Pattern


@dataclass(frozen=True, slots=True)
class Mark:
    """One way in which a guard shows itself: a message, or the source line of a bare assert."""

    exception: str = ""
    pattern: Pattern | None = None
    code: str = ""

    def fits(self, exception: str, message: str, line: str) -> bool:
        if self.exception and self.exception.rpartition(".")[2] != exception:
            return False
        if self.pattern is None:
            return not message and bool(self.code) and _tight(line).startswith(self.code)
        hit = self.hit(message)
        return hit is not None and hit.complete

    def hit(self, message: str) -> Hit | None:
        return self.pattern.match(message) if self.pattern is not None else None


def mark(exception: str, message: str, code: str = "") -> Mark:
    pattern = Pattern.compile(message) if message else None
    return Mark(exception, pattern, _tight(code))


def marks_of(identify: Iterable[Identify]) -> tuple[Mark, ...]:
    return tuple(mark(one.exception, one.message, one.code) for one in identify)


def _tight(text: str) -> str:
    return "".join(text.split())
