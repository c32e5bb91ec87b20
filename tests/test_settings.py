"""The config file: the names of the flags, flags win, and what is wrong is told with its line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kvdoctor.cli import main
from kvdoctor.command.arguments import parser
from kvdoctor.errors import InputError
from kvdoctor.history import switched_off
from kvdoctor.settings import FIELDS, THEMES, Settings, fill, load

CASES = Path(__file__).with_name("cases")
LOG = str(CASES / "061-nixl-blocksize-d-smaller" / "decode.log")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of a config file that does not exist yet; nothing else of the user's is read."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("KVDOCTOR_CONFIG", "KVDOCTOR_HISTORY", "KVDOCTOR_KNOWLEDGE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "XDG_CONFIG_HOME" / "kvdoctor"
    folder.mkdir(parents=True)
    return folder / "config.toml"


def test_without_a_file_the_defaults_hold(config: Path) -> None:
    assert not config.exists()
    assert load() == Settings()


def test_every_setting_is_read(config: Path, tmp_path: Path) -> None:
    config.write_text(
        'knowledge = ["mine", "/srv/records"]\nascii = true\nplain = true\ntheme = "light"\n'
        "hide-hosts = true\nhistory = false\n"
    )
    assert load() == Settings(
        (str(config.parent / "mine"), "/srv/records"), True, True, "light", True, False, str(config)
    )


def test_the_variable_names_another_file(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text("ascii = true\n")
    other = tmp_path / "other.toml"
    other.write_text("plain = true\n")
    monkeypatch.setenv("KVDOCTOR_CONFIG", str(other))
    assert (load().ascii, load().plain) == (False, True)
    monkeypatch.setenv("KVDOCTOR_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(InputError, match="no such config file"):
        load()


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("ascii = true\nhistroy = false\n", 2, "did you mean 'history'?"),
        ("\n\n[zzz]\na = 1\n", 3, "known: knowledge, ascii"),
        ("hide-hosts = 'yes'\n", 1, "write true or false"),
        ("history = 0\n", 1, "write true or false"),
        ("# a word\ntheme = 'blue'\n", 2, "one of dark, light, high-contrast"),
        ("theme = ['light']\n", 1, "one of dark"),
        ("knowledge = [1]\n", 1, "a list of folders"),
        ("knowledge = [\n 'a',\n '',\n]\n", 1, "a list of folders"),
        ("knowledge = '''\ntheme = 1\n'''\ntheme = 2\n", 4, "one of dark"),
        ("ascii = true\nplain = \n", 2, "not TOML"),
        ("ascii = yes\n", 1, "not TOML"),
        ("ascii = true\nascii = false\n", 2, "not TOML"),
        ("theme = 'light", 1, "not TOML"),
        ("ascii = true\n\xff", 2, "UTF-8"),
        ("x = " + "[" * 20_000, 0, ""),
        ("#" * 70_000, 0, "not a config file"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_a_remedy(
    config: Path, text: str, line: int, says: str
) -> None:
    config.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError) as told:
        load()
    assert (told.value.file, told.value.line) == (str(config), line)
    assert says in str(told.value)


def test_a_byte_order_mark_is_no_mistake(config: Path) -> None:
    config.write_bytes(b"\xef\xbb\xbfascii = true\r\n")
    assert load().ascii


def test_flags_win_over_the_file(config: Path) -> None:
    config.write_text("ascii = true\nplain = true\ntheme = 'dark'\nknowledge = 'mine'\n")
    options = parser("screen").parse_args(
        ["screen", "--no-ascii", "--theme", "light", "--knowledge", "given"]
    )
    fill(options)
    assert (options.ascii, options.plain, options.theme) == (False, True, "light")
    assert options.knowledge == [str(config.parent / "mine"), "given"]


def test_every_setting_is_a_flag_of_the_same_name() -> None:
    told = parser().format_help() + "".join(
        one.format_help()
        for action in parser()._actions
        for one in (action.choices or {}).values()
        if hasattr(one, "format_help")
    )
    for name in FIELDS:
        assert f"--{name.replace('_', '-')}" in told.replace("--no-", "--"), name


def test_the_screen_has_every_theme() -> None:
    from kvdoctor.ui.themes import NAMED

    assert tuple(NAMED) == THEMES


def test_notes_hide_hosts_when_the_file_says_so(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a.log"
    lost = "zmq.error.ZMQError: no answer from 10.1.2.3\n"
    log.write_text(lost + Path(LOG).read_text("utf-8"))
    shown = []
    for text, flags in (
        ("", ()),
        ("hide-hosts = true", ()),
        ("hide-hosts = true", ("--no-hide-hosts",)),
    ):
        config.write_text(text)
        main(["diagnose", str(log), "--note", "plain", *flags])
        shown.append(capsys.readouterr().out)
    assert ["10.1.2.3" in one for one in shown] == [True, False, True]


def test_the_history_is_switched_off_by_the_file_and_on_by_the_variable(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert switched_off() == ""
    config.write_text("history = false\n")
    assert str(config) in switched_off()
    main(["diagnose", "--save", LOG])
    assert "switched off" in capsys.readouterr().err
    monkeypatch.setenv("KVDOCTOR_HISTORY", "on")
    assert switched_off() == ""


def test_a_broken_file_stops_a_diagnosis_but_not_info(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text("asci = true\n")
    assert main(["diagnose", LOG]) == 2
    assert "did you mean 'ascii'?" in capsys.readouterr().err
    assert main(["info", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "config.toml:1: unknown key 'asci'" in told["problems"][0]


def test_info_names_every_place(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["info", "--json"])
    places = json.loads(capsys.readouterr().out)["paths"]
    assert set(places) == {"program", "knowledge", "cache", "private", "config", "state", "history"}
    assert places["config"] == str(config)
    assert all(Path(one).is_absolute() for one in places.values())
    main(["info"])
    told = capsys.readouterr().out
    assert f"{config}  (not there yet)" in told


@pytest.mark.parametrize("text", [None, "ascii = true\n"])
def test_toml_is_imported_only_for_a_file(config: Path, text: str | None) -> None:
    if text is not None:
        config.write_text(text)
    code = (
        "import sys\nfrom kvdoctor.cli import main\n"
        f"main(['diagnose', '--json', {LOG!r}])\n"
        "print([one for one in ('tomllib', 'tomli') if one in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stderr.strip() == "[]") == (text is None)
