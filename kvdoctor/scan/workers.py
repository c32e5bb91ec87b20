"""Processes that work off tasks. None outlives the one that started them, whatever ends it; the
task of one that is killed is done by the one that started it."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import connection, get_context, parent_process
from typing import Any

from kvdoctor.scan.inputs import Progress

TELL = 0.1  # seconds between two words about how far a task is
Connection = Any  # of another class on each system
Say = Callable[[int], None]
Work = Callable[[Any, Say], Any]


def shared_out(
    work: Work, tasks: Sequence[Any], jobs: int, watch: Callable[[str, Progress], None] | None
) -> Iterator[tuple[Any, Any]]:
    """Every task with its result, as they come. A task has a ``name`` (a process goes on with the
    name it has begun) and a ``size``; a problem that ``work`` raises is raised here."""
    left = dict(enumerate(tasks))
    if not left:
        return
    crew = _Crew(work, list(tasks), min(jobs, len(left)))
    total = Progress(0, sum(task.size for task in tasks))
    try:
        while left:
            for number, made in crew.turn():
                yield left.pop(number), made
            if watch is not None:
                total.done = crew.done
                watch(f"{len(tasks) - len(left)} of {len(tasks)} parts", total)
            if not crew.people:
                break
    finally:
        crew.end()
    for task in left.values():  # every process was killed: what is missing is done here
        yield task, work(task, lambda _: None)


class _Crew:
    """The processes, and which task each has."""

    def __init__(self, work: Work, tasks: list[Any], count: int) -> None:
        self.tasks = tasks
        self.open = set(range(len(tasks)))
        self.people: dict[Connection, Any] = {}
        self.has: dict[Connection, int] = {}
        self.part: dict[Connection, int] = {}
        self.finished = 0
        forks = sys.platform == "linux"  # a forked process has the knowledge already
        context: Any = get_context("fork" if forks else "spawn")
        gc.freeze()  # else the first collection in each process would copy all of the knowledge
        for _ in range(count):
            mine, theirs = context.Pipe()
            others = [*self.people, mine] if forks else []
            process = context.Process(target=_labour, args=(work, theirs, others), daemon=True)
            process.start()
            theirs.close()
            self.people[mine] = process
            self._give(mine)
        gc.unfreeze()

    @property
    def done(self) -> int:
        """Bytes that were read."""
        return self.finished + sum(self.part.values())

    def turn(self) -> list[tuple[int, Any]]:
        """Wait for word from any process; the results that came."""
        made = []
        waiting: list[Connection] = connection.wait(list(self.people))
        for ready in waiting:
            try:
                kind, what = ready.recv()
            except (EOFError, OSError):
                self._lost(ready)
                continue
            if kind == "done":
                number = self.has[ready]
                self.finished += self.tasks[number].size
                made.append((number, what))
                self._give(ready)
            elif kind == "failed":
                raise what
            else:
                self.part[ready] = what
        return made

    def _give(self, one: Connection) -> None:
        """The next task: of the name it has begun, else of the one with most left to do."""
        last = self.tasks[self.has[one]].name if one in self.has else ""
        self.part[one] = 0
        if not self.open:
            one.close()
            self.people.pop(one).join(0)
            return
        weights: dict[str, int] = {}
        for number in self.open:
            task = self.tasks[number]
            weights[task.name] = weights.get(task.name, 0) + task.size
        name = last if last in weights else max(weights, key=lambda name: (weights[name], name))
        number = min(number for number in self.open if self.tasks[number].name == name)
        self.open.discard(number)
        self.has[one] = number
        try:
            one.send(self.tasks[number])
        except OSError:
            self._lost(one)

    def _lost(self, one: Connection) -> None:
        """A process was killed: others go on, and its task is left to whoever started it."""
        self.people.pop(one).join(0)
        one.close()
        self.part[one] = 0

    def end(self) -> None:
        """Stop whatever still runs."""
        for one, process in self.people.items():
            process.terminate()
            one.close()
        for process in self.people.values():
            process.join(5)


def _labour(work: Work, boss: Connection, others: list[Connection]) -> None:
    """One process: tasks until no more come."""
    for one in others:
        one.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one that started it is asked, and ends it
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    told = time.monotonic()

    def say(done: int) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told > TELL:
            told = now
            _tell(boss, ("at", done))

    while True:
        try:
            task = boss.recv()
        except (EOFError, OSError):
            return
        try:
            answer = ("done", work(task, say))
        except Exception as error:
            answer = ("failed", error)
        _tell(boss, answer)


def _tell(boss: Connection, word: tuple[str, Any]) -> None:
    try:
        boss.send(word)
    except OSError:
        os._exit(1)  # nobody is left to be told


def _leave_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
