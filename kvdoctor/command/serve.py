"""``kvdoctor serve``: the screen in a browser, for who has no terminal at hand."""

from __future__ import annotations

import sys
from pathlib import Path

from kvdoctor.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from kvdoctor.command.registry import Commands

PORT = 8765
PAGES = 4  # some 60 MB each, more with a long log
LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - recognised, to ask for a name instead


def add(commands: Commands) -> None:
    """The options of ``kvdoctor serve``."""
    from kvdoctor.command.arguments import add_inputs
    from kvdoctor.settings import THEMES

    serve = commands.add_parser(
        "serve",
        help="the screen in a browser",
        epilog='Needs the extra: pip install "kvdoctor[serve]". Tells an address with a token that '
        "is made anew at each start; whoever has it sees these logs. Each page is a kvdoctor of "
        "its own. There is no encryption: across a network, put a proxy with TLS in front. With a "
        "--host that is not loopback no history is kept or shown.",
    )
    add_inputs(serve)
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (loopback)")
    serve.add_argument("--port", type=int, default=PORT, help=f"port to listen on ({PORT})")
    serve.add_argument(
        "--url", default="", help="what browsers call it, behind a proxy or with --host 0.0.0.0"
    )
    serve.add_argument(
        "--pages", type=int, default=PAGES, help=f"open pages at once, a process each ({PAGES})"
    )
    serve.add_argument(
        "--no-token",
        action="store_true",
        help="no token; on loopback only, where every user of the machine then reaches it",
    )
    serve.add_argument("--no-history", action="store_true", help="keep and show no history")
    serve.add_argument("--theme", choices=THEMES, help="colours")


def run(options: argparse.Namespace) -> int:
    """Serve until it is interrupted. Returns 0. Raises InputError when the package is missing, the
    address cannot be taken, or an input is not there."""
    url = _url(options)
    local = options.host in LOOPBACK
    if options.pages < 1:
        raise InputError(f"--pages {options.pages}: no page could be open", remedy="1 or more")
    if options.no_token and not local:
        raise InputError(
            f"--no-token with --host {options.host}: whoever reaches it would see these logs",
            remedy="leave one of the two out",
        )
    command = served_command(options)
    try:
        from kvdoctor.serving import Door, serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("textual_serve", "aiohttp"):
            raise
        raise InputError(
            "serving needs the package textual-serve", remedy='pip install "kvdoctor[serve]"'
        ) from error
    from kvdoctor.command.inputs import tell

    if options.no_token:
        tell("there is no token: every user of this machine who can reach the port sees the page")
    elif not local and not url.startswith("https:"):
        tell("there is no encryption: who listens on the network sees the token and the page")
    serve(
        command,
        options.host,
        options.port,
        Door(url, options.port, not options.no_token),
        options.pages,
    )
    return 0


def served_command(options: argparse.Namespace) -> list[str]:
    """The words of one page's process: this very kvdoctor with the same inputs. Raises InputError
    for an input that cannot be served."""
    words = [*_this_kvdoctor(), "screen", "--no-plain"]
    if options.no_history or options.host not in LOOPBACK:
        words.append("--no-history")
    if options.theme:
        words += ["--theme", options.theme]
    for one in dict.fromkeys(options.knowledge):
        words.append(f"--knowledge={one}")
    words += [f"--set={one}" for one in options.sets]
    words += [f"--prefill={_there(one)}" for one in options.prefill]
    words += [f"--decode={_there(one)}" for one in options.decode]
    return [*words, "--", *map(_there, options.files)] if options.files else words


def _this_kvdoctor() -> list[str]:
    """Python with the package that runs now, before any other that is installed; the current
    folder is no place to import from."""
    above = str(Path(__file__).resolve().parents[2])
    code = (
        "import sys; path = [one for one in sys.path if one]; "
        "at = next((n for n, one in enumerate(path) if one.endswith('-packages')), len(path)); "
        f"sys.path[:] = [*path[:at], {above!r}, *path[at:]]; "
        "from kvdoctor.cli import main; sys.exit(main())"
    )
    return [sys.executable, "-c", code]


def _there(name: str) -> str:
    if name == "-":
        raise InputError("a pipe cannot be served", remedy="save it as a file, or paste it there")
    if not Path(name).is_file():
        raise InputError("no such file", file=name)
    return name


def _url(options: argparse.Namespace) -> str:
    """What browsers call the server. Raises InputError."""
    if not 0 < options.port < 65536:
        raise InputError(f"--port {options.port}: no such port", remedy="1 to 65535")
    if options.url:
        scheme, _, rest = options.url.partition("://")
        if scheme not in ("http", "https") or not rest.rstrip("/") or "/" in rest.rstrip("/"):
            raise InputError(f"--url {options.url}", remedy="write http://NAME or http://NAME:PORT")
        return str(options.url.rstrip("/"))
    if options.host in EVERYWHERE:
        raise InputError(
            f"--host {options.host} is every address, and no browser can call it that",
            remedy=f"add --url http://NAME:{options.port}",
        )
    host = f"[{options.host}]" if ":" in options.host else options.host
    return f"http://{host}:{options.port}"
