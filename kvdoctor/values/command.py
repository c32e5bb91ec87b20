"""A pasted launch command of vLLM, taken apart but still the user's own text.

``Command.text`` is the command as it was written, from its first variable assignment to its last
argument; tokens and arguments point into it, so that :mod:`kvdoctor.values.rewrite` changes only
what a fix changes. Style ``list`` is the same for an argument list of a manifest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kvdoctor.data import dataclass, field
from kvdoctor.values.flatten import flatten
from kvdoctor.values.listing import read_listing
from kvdoctor.values.literals import Tree, read_literal, scalar
from kvdoctor.values.shell import Lexer, Token
from kvdoctor.values.table import Flags
from kvdoctor.values.value import Scalar

# Programs that take the options of `vllm serve`.
PROGRAM = re.compile(
    r"(?<![\w-])vllm[ \t\\\r\n]+serve(?![\w:-])"
    r"|-m[ \t\\\r\n]+(?:vllm\.entrypoints\.[\w.]+|dynamo\.vllm)\b"
    r"|(?<=/)vllm-openai(?=[\w-]{0,40}(?::[\w.-]{1,128})?(?:@sha256:\w{1,64})?[ \t\\])"
)
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])")
_FACTORS = {
    "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40,
}  # fmt: skip
_WRAPPERS = frozenset(
    {"env", "exec", "nohup", "sudo", "time", "stdbuf", "numactl", "taskset", "setsid", "nice",
     "timeout", "command", "docker", "podman", "nerdctl"}
)  # fmt: skip
MOST_TOKENS = 2_000


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable set for the command; ``token`` is the index of the word that sets it."""

    name: str
    value: str
    token: int


@dataclass(frozen=True, slots=True)
class Argument:
    """One option: ``name`` with underscores, ``path`` of a dotted one ("kv_role"), the words of
    its values, and the tokens it takes. ``inverse``: written as --no-… or its opposite word."""

    name: str
    path: str
    values: tuple[str, ...]
    first: int
    last: int
    inverse: bool = False
    joined: bool = False  # --flag=value
    switch: bool = False  # takes no value


@dataclass(frozen=True, slots=True)
class Command:
    """A launch command. ``program`` is the index of the last word of the program's name;
    ``number`` the line of the paste where ``text`` starts."""

    text: str
    tokens: tuple[Token, ...]
    program: int
    env: tuple[Assignment, ...]
    arguments: tuple[Argument, ...]
    positional: tuple[int, ...] = ()
    number: int = 0
    style: str = "shell"
    flags: Flags = field(default=Flags(), repr=False, compare=False)
    rows: tuple[int, ...] = field(default=(), repr=False, compare=False)  # of a manifest: lines

    def argument(self, name: str, path: str | None = "") -> Argument | None:
        """The option that counts: the last one of that name (and path; None: any path)."""
        for one in reversed(self.arguments):
            if one.name == name and (path is None or one.path == path):
                return one
        return None

    @property
    def is_module(self) -> bool:
        """Whether a module of vLLM is run (python -m …): only --model names its model. `vllm
        serve` takes the first positional word, and refuses one beside --model."""
        return 0 < self.program < len(self.tokens) and self.tokens[self.program - 1].text == "-m"

    @property
    def model_word(self) -> int:
        """The token of the positional word that names the model, -1 when none does."""
        return -1 if self.is_module or not self.positional else self.positional[0]

    def line_of(self, token: int) -> int:
        """Line of the paste where a token stands, 0 when unknown."""
        if 0 <= token < len(self.rows):
            return self.rows[token]
        if self.style == "list" or not self.number or not 0 <= token < len(self.tokens):
            return self.number
        return self.number + self.text.count("\n", 0, self.tokens[token].start)


def find_commands(text: str, flags: Flags, number: int = 0, depth: int = 0) -> Iterator[Command]:
    """The launch commands in a text whose first line is line ``number`` of the paste."""
    behind = 0
    for found in PROGRAM.finditer(text):
        if found.start() < behind:
            continue
        start = _logical_start(text, found.start(), behind)
        tokens, stop = _simple_around(text, start, found.start())
        word = next((one for one in tokens if one.start <= found.start() < one.end), None)
        if word is not None and _is_script(word) and depth < 3:
            line = number + text.count("\n", 0, word.start) if number else 0
            yield from find_commands(word.text, flags, line, depth + 1)
            behind = word.end
            continue
        if word is None or _is_script(word):
            tokens, stop = _plain_words(text, found.start())
        behind = max(stop, found.end())
        command = _command(text, tokens, found.start(), found.end(), flags, number)
        if command is not None:
            yield command


def _is_script(word: Token) -> bool:
    """Whether one word holds a whole command: sh -c "vllm serve …"."""
    return any(char in word.text for char in " \n")


def _plain_words(text: str, at: int) -> tuple[list[Token], int]:
    """The words from the program's name on: what stands before it is no shell text."""
    end = text.find("`", at) if text[at - 1 : at] == "`" else -1
    lexer = Lexer(text[:end] if end > 0 else text, at)
    tokens = lexer.simple_command()
    if not lexer.closed:  # a stray quote: the line alone
        line = text.find("\n", at)
        tokens = Lexer(text[:line] if line > 0 else text, at).simple_command()
    return tokens, tokens[-1].end if tokens else at


def parse_command(text: str, flags: Flags, *, number: int = 0, style: str = "shell") -> Command:
    """The command that ``text`` is, whatever its program."""
    if style == "list":
        tokens, env = read_listing(text)
        assigned = tuple(Assignment(*one) for one in env)
        return _made(text, tokens, _program_of(tokens), assigned, flags, number, style)
    tokens = tuple(Lexer(text).simple_command()[:MOST_TOKENS])
    found = PROGRAM.search(text)
    program = _token_at(tokens, found.end() - 1) if found else -1
    return _made(text, tokens, program, _assignments(tokens, program), flags, number, style)


def _program_of(tokens: Sequence[Token]) -> int:
    """Index of the last word of the program's name in an argument list, -1 when it has none."""
    words = [token.text for token in tokens[:6]]
    for index in range(len(words) - 1):
        if words[index] == "-m":
            return index + 1
        if words[index].rpartition("/")[2] == "vllm" and words[index + 1] == "serve":
            return index + 1
    return -1


def _logical_start(text: str, at: int, behind: int) -> int:
    """Start of the logical line that holds ``at``: lines before it that are continued belong to
    it, and a quote or bracket that opens right before the program starts it anew."""
    start = text.rfind("\n", behind, at) + 1
    for _ in range(200):
        before = text[behind : max(behind, start - 1)].rstrip(" \t\r")
        if start <= behind or not before.endswith("\\"):
            break
        start = text.rfind("\n", behind, start - 1) + 1
    return max(start, behind)


def _simple_around(text: str, start: int, program: int) -> tuple[list[Token], int]:
    """The simple command of the logical line from ``start`` on that reaches to ``program``."""
    lexer = Lexer(text, start)
    for _ in range(200):
        tokens = lexer.simple_command()
        if not lexer.closed:
            break
        if lexer.at > program or lexer.at >= len(lexer.text):
            return tokens, lexer.at
        lexer.skip_end()
    return [], start


def _command(
    text: str, tokens: list[Token], start: int, end: int, flags: Flags, number: int
) -> Command | None:
    """The command whose program's name stands from ``start`` to ``end``."""
    last = _token_at(tokens, end - 1)
    if last < 0:
        return None
    first = _first_token(tokens, _token_at(tokens, start))
    if text[max(0, start - 60) : start].rstrip().endswith("usage:"):
        return None
    if [one.text for one in tokens[last + 1 : last + 3]] == ["vllm", "serve"]:
        last += 2  # docker run IMAGE vllm serve …
    tokens = tokens[first : first + MOST_TOKENS]
    base = tokens[0].start
    kept = tuple(Token(one.text, one.start - base, one.end - base) for one in tokens)
    line = number + text.count("\n", 0, base) if number else 0
    index = last - first
    if len(kept) <= index + 1:
        return None
    own = text[base : tokens[-1].end]
    return _made(own, kept, index, _assignments(kept, index), flags, line, "shell")


def _token_at(tokens: Sequence[Token], place: int) -> int:
    for index, token in enumerate(tokens):
        if token.start <= place < token.end:
            return index
    return -1


def _first_token(tokens: list[Token], program: int) -> int:
    """Where the command itself starts: assignments and wrappers belong to it, a prompt does not."""
    for index in range(program):
        text = tokens[index].text
        if text.rpartition("/")[2] in _WRAPPERS or _ASSIGNED.match(text):
            return index
    python = program - 1
    if python >= 0 and tokens[program].text == "-m":
        while python > 0 and tokens[python].text.startswith("-"):
            python -= 1
        return python
    return max(program, 0)


def _assignments(tokens: tuple[Token, ...], program: int) -> tuple[Assignment, ...]:
    """NAME=value words before the program, also behind -e and --env of a container runner."""
    found: list[Assignment] = []
    for index, token in enumerate(tokens[: max(program, 0)]):
        text = token.text
        for head in ("--env=", "-e="):
            text = text.removeprefix(head)
        if _ASSIGNED.match(text):
            name, _, value = text.partition("=")
            found.append(Assignment(name, value, index))
    return tuple(found)


def _made(
    text: str,
    tokens: tuple[Token, ...],
    program: int,
    env: tuple[Assignment, ...],
    flags: Flags,
    number: int,
    style: str,
) -> Command:
    if style == "shell":
        tokens = _with_whole_json(text, tokens)
    arguments, positional = read_arguments(tokens, program + 1, flags)
    return Command(text, tokens, program, env, arguments, positional, number, style, flags)


def _with_whole_json(text: str, tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """JSON that lost its quotes, as a list of processes prints it, as one word again."""
    if '{"' not in text:
        return tokens
    made: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        last = index
        if text.startswith('{"', token.start):
            raw = text[token.start : token.end]
            while raw.count("{") > raw.count("}") and last + 1 < min(len(tokens), index + 200):
                last += 1
                raw = text[token.start : tokens[last].end]
            if raw.count("{") == raw.count("}"):
                token = Token(raw, token.start, tokens[last].end)
            else:
                last = index
        made.append(token)
        index = last + 1
    return tuple(made)


# -- options -----------------------------------------------------------------------------------


def read_arguments(
    tokens: tuple[Token, ...], start: int, flags: Flags
) -> tuple[tuple[Argument, ...], tuple[int, ...]]:
    """The options from token ``start`` on, and the indices of the words that belong to none."""
    arguments: list[Argument] = []
    positional: list[int] = []
    index = start
    while index < len(tokens):
        word = _dashes(tokens[index].text)
        if not _is_option(word):
            positional.append(index)
            index += 1
            continue
        argument = _argument(tokens, index, word, flags)
        arguments.append(argument)
        index = argument.last + 1
    return tuple(arguments), tuple(positional)


def _dashes(word: str) -> str:
    """Documents turn ``--`` into one long dash."""
    return "--" + word[1:] if word[:1] in "–—" and len(word) > 1 else word


def _is_option(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and not word[1].isdigit() and word[1] != "."


def _argument(tokens: tuple[Token, ...], index: int, word: str, flags: Flags) -> Argument:
    head, equals, tail = word.partition("=")
    if not head.startswith("--"):
        name, path = flags.short.get(head, head.lstrip("-").replace("-", "_")), ""
    else:
        plain, _, path = head[2:].partition(".")
        name = flags.name(plain)
    inverse = False
    if not path:
        name, inverse = spelled(name, flags)
    if equals:
        return Argument(name, path, (tail,), index, index, inverse, joined=True)
    if name in flags.booleans and not path:
        return Argument(name, path, (), index, index, inverse, switch=True)
    last = index
    while last + 1 < len(tokens) and not _is_option(_dashes(tokens[last + 1].text)):
        last += 1
        if name not in flags.many:
            break
    if inverse:
        last = index
    values = tuple(token.text for token in tokens[index + 1 : last + 1])
    return Argument(name, path, values, index, last, inverse, switch=not values)


def spelled(name: str, flags: Flags) -> tuple[str, bool]:
    """The option a spelling stands for, and whether it is switched off by it."""
    known = flags.booleans | flags.known | flags.many
    if name in known or not known:
        return name, False
    for prefix, other in (("no_", ""), ("enable_", "disable_"), ("disable_", "enable_")):
        if name.startswith(prefix) and other + name.removeprefix(prefix) in flags.booleans:
            return other + name.removeprefix(prefix), True
    if name.startswith("no_"):
        inner, inverse = spelled(name[3:], flags)
        return (inner, not inverse) if inner in flags.booleans else (name[3:], True)
    longer = [one for one in known if one.startswith(name)]
    return (longer[0], False) if len(longer) == 1 else (name, False)


# -- values ------------------------------------------------------------------------------------


def values_of(command: Command) -> Iterator[tuple[str, Scalar, int]]:
    """(name, value, token) of everything the command states; what counts comes first."""
    for one in reversed(command.env):
        yield one.name, scalar(one.value), one.token
    dotted = {one.name for one in command.arguments if one.path}
    nested: dict[str, Tree] = {}
    places: dict[str, int] = {}
    for argument in command.arguments:
        if argument.path:
            _graft(nested.setdefault(argument.name, {}), argument)
            places.setdefault(argument.name, argument.first)
    for name, tree in nested.items():
        for pair in flatten({name: tree}, {}):
            yield *pair, places[name]
    for argument in reversed(command.arguments):
        if argument.path or argument.name in dotted:
            continue  # dotted options replace the whole JSON of the same name
        for name, value in _stated(argument, command.flags):
            yield name, value, argument.last
    first = command.model_word
    if first >= 0 and command.argument("model") is None:
        yield "model", command.tokens[first].text, first


def _stated(argument: Argument, flags: Flags) -> Iterator[tuple[str, Scalar]]:
    if argument.switch and not argument.values:
        yield argument.name, not argument.inverse
        return
    if len(argument.values) > 1:
        yield argument.name, ",".join(argument.values)
        return
    text = argument.values[0].strip()
    if text[:1] in "{[":
        reading = read_literal(text)
        if reading is not None and isinstance(reading.tree, dict | list):
            yield from flatten({argument.name: reading.tree}, {})
            return
    yield argument.name, option_value(argument.name, text, flags)


def option_value(name: str, text: str, flags: Flags) -> Scalar:
    """The value of an option's word; sizes may be written 8k or 2M."""
    size = _SIZE.fullmatch(text) if name in flags.sizes and len(text) < 40 else None
    if size:
        return int(float(size[1]) * _FACTORS[size[2]])
    return scalar(text)


def _graft(tree: Tree, argument: Argument) -> None:
    """Put the value of a dotted option in its place."""
    if not isinstance(tree, dict):
        return
    text = argument.values[0] if argument.values else "true"
    value: Tree = scalar(text)
    if text[:1] in "{[":
        reading = read_literal(text)
        value = reading.tree if reading is not None else text
    path = argument.path
    if path.endswith("+"):
        path, value = path[:-1], list(text.split(","))
    *parents, leaf = path.split(".")[:20]
    for parent in parents:
        tree = tree.setdefault(parent, {})
        if not isinstance(tree, dict):
            return
    present = tree.get(leaf)
    if isinstance(present, list) and isinstance(value, list):
        tree[leaf] = [*present, *value]
    else:
        tree[leaf] = value
