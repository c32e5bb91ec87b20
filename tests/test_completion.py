"""Completion in real shells at a real terminal, and the manual page, both made from the parser."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kvdoctor.cli import main
from kvdoctor.command.arguments import parser
from kvdoctor.command.described import Command, described
from kvdoctor.command.shells import bash, fish, zsh
from kvdoctor.load import load

ROOT = Path(__file__).parents[1]
PROGRAM = described(parser())
PACKAGE = Path(main.__code__.co_filename).parent
ASKED = {  # what is typed before the tab → the line that must then stand there
    "kvdoctor expl": "kvdoctor explain",
    "kvdoctor --the": "kvdoctor --theme",
    "kvdoctor diagnose --no-h": "kvdoctor diagnose --no-hide-hosts",
    "kvdoctor diagnose --note sla": "kvdoctor diagnose --note slack",
    "kvdoctor explain nixl-block-size-n": "kvdoctor explain nixl-block-size-not-multiple",
    "kvdoctor prove --json nixl-block-size-n": (
        "kvdoctor prove --json nixl-block-size-not-multiple"
    ),
    "kvdoctor diagnose --record nixl-block-size-n": (
        "kvdoctor diagnose --record nixl-block-size-not-multiple"
    ),
    "kvdoctor history dele": "kvdoctor history delete",
    "kvdoctor diagnose --prefill two": "kvdoctor diagnose --prefill two\\ words.log",
    "kvdoctor lint --knowledge rec": "kvdoctor lint --knowledge records",
    "kvdoctor two": "kvdoctor two\\ words.log",
}


def needs(program: str) -> None:
    if shutil.which(program) is None or sys.platform == "win32":
        pytest.skip(f"{program} is not installed here")


def in_terminal(words: list[str], folder: Path, keys: list[bytes], ready: str) -> str:
    """What a program at a terminal shows. Each of ``keys`` is typed once the text ``ready`` has
    come as often as it was typed before."""
    import pty

    (folder / "two words.log").write_text("x\n")
    (folder / "records").mkdir(exist_ok=True)
    scripts = folder / "scripts"
    scripts.mkdir(exist_ok=True)
    program = scripts / "kvdoctor"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kvdoctor "$@"\n')
    program.chmod(0o755)
    kept = {name: os.environ[name] for name in ("LANG",) if name in os.environ}
    environment = {
        **kept, "HOME": str(folder), "TERM": "dumb", "PS1": "", "PYTHONPATH": str(ROOT),
        "PATH": f"{scripts}:{os.environ['PATH']}",
    }  # fmt: skip
    terminal, inner = pty.openpty()
    shell = subprocess.Popen(
        words, cwd=folder, env=environment, stdin=inner, stdout=inner, stderr=inner,
        start_new_session=True,
    )  # fmt: skip
    os.close(inner)
    shown = b""
    try:
        for number, typed in enumerate(keys):
            shown += _until(terminal, shown, ready.encode(), number)
            os.write(terminal, typed)
        shown += _until(terminal, shown, ready.encode(), len(keys))
    finally:
        os.close(terminal)
        shell.kill()
        shell.wait()
    return shown.decode("utf-8", "replace")


def _until(terminal: int, before: bytes, ready: bytes, times: int) -> bytes:
    came = b""
    end = time.monotonic() + 30
    while (before + came).count(ready) < times and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                came += os.read(terminal, 65536)
            except OSError:
                break
    return came


def lines_after_tab(shell: str, flags: list[str], setup: str, folder: Path) -> dict[str, str]:
    """For each text of ASKED the line that stands there after the tab: the line is made the
    argument of a printing command and run."""
    keys = [setup.encode() + b"; printf 'DO''NE\\n'\n"]
    for text in ASKED:
        keys.append(text.encode() + b"\t" + b"\x01printf '<%s>' '\x05'; printf 'DO''NE\\n'\n")
    shown = in_terminal([shell, *flags], folder, keys, "DONE")
    printed = re.findall(r"<([^<>]*)>DONE", shown)
    assert len(printed) == len(ASKED), shown[-3000:]
    return dict(zip(ASKED, (one.rstrip(" /") for one in printed), strict=True))


def test_bash_completes_at_a_terminal(tmp_path: Path) -> None:
    needs("bash")
    setup = "bind 'set bell-style none'; source <(kvdoctor completion bash)"
    assert lines_after_tab("bash", ["--norc", "--noprofile", "-i"], setup, tmp_path) == ASKED


def test_zsh_completes_at_a_terminal(tmp_path: Path) -> None:
    needs("zsh")
    setup = (
        "unsetopt beep prompt_cr prompt_sp; PROMPT=; bindkey -e; autoload -Uz compinit; "
        "compinit -u -D; source <(kvdoctor completion zsh)"
    )
    assert lines_after_tab("zsh", ["-f", "-i"], setup, tmp_path) == ASKED


def test_fish_completes(tmp_path: Path) -> None:
    needs("fish")
    (tmp_path / "two words.log").write_text("x\n")
    (tmp_path / "records").mkdir()
    program = tmp_path / "kvdoctor"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kvdoctor "$@"\n')
    program.chmod(0o755)
    asked = "\n".join(f"complete -C'{text}'; echo END" for text in ASKED)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"kvdoctor completion fish | source\n{asked}"],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path),
             "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    answers = done.stdout.split("END\n")[:-1]
    for (text, line), answer in zip(ASKED.items(), answers, strict=True):
        wanted = line.replace("two\\ words", "two words").removeprefix(
            text.rpartition(" ")[0] + " "
        )
        offered = [
            one.split("\t")[0].replace("\\ ", " ").rstrip("/") for one in answer.splitlines()
        ]
        assert wanted in offered, (text, answer)


def test_every_command_and_option_is_in_every_script_and_in_the_manual(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["man"])
    page = capsys.readouterr().out.replace("\\-", "-")
    for made in (bash.script(PROGRAM), zsh.script(PROGRAM), page):
        for command in PROGRAM.commands:
            assert command.name in made
            for option in command.options:
                for flag in set(option.flags) - {"-h", "--help"}:
                    assert flag in made, (command.name, flag)
    for command in PROGRAM.commands:
        for option in command.options:
            for flag in option.flags:
                form = f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                assert form in fish.script(PROGRAM)


def test_help_that_holds_signs_of_the_shell_does_nothing_in_a_script(tmp_path: Path) -> None:
    import argparse

    hostile = 'it\'s $(touch x) `touch x` [a]:b \\ "q" | & ; touch x'
    made = argparse.ArgumentParser(prog="kvdoctor", description=hostile)
    commands = made.add_subparsers()
    for name in ("screen", "other"):
        command = commands.add_parser(name, help=hostile)
        command.add_argument("--flag", help=hostile, metavar="FILE")
        command.add_argument("what", help=hostile, choices=["a", "b"])
    program: Command = described(made)
    for shell, module in (("bash", bash), ("zsh", zsh), ("fish", fish)):
        if shutil.which(shell):
            before = "autoload -Uz compinit; compinit -u -D\n" if shell == "zsh" else ""
            subprocess.run(
                [shell, "-c", before + module.script(program)],
                cwd=tmp_path, check=True, timeout=60, capture_output=True,
            )  # fmt: skip
    assert not (tmp_path / "x").exists()


def test_records_are_listed_with_their_titles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "records"]) == 0
    rows = [one.split("\t") for one in capsys.readouterr().out.splitlines()]
    assert [one[0] for one in rows] == sorted(load().records)
    assert all(len(one) == 2 and one[1] for one in rows)


def test_a_private_record_cannot_reach_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = next((ROOT / "knowledge" / "records").rglob("nixl-block-size-not-multiple.yaml"))
    text = shipped.read_text("utf-8").replace(shipped.stem, "$(touch x)", 1)
    (tmp_path / "evil.yaml").write_text(text, "utf-8")
    monkeypatch.setenv("KVDOCTOR_KNOWLEDGE", str(tmp_path))
    main(["completion", "records"])
    assert "$" not in "".join(one.split("\t")[0] for one in capsys.readouterr().out.splitlines())


# -- the manual page ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("man") / "kvdoctor.1"
    done = subprocess.run(
        [sys.executable, "-m", "kvdoctor", "man"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    made.write_text(done.stdout, "utf-8")
    return made


def test_mandoc_finds_nothing_wrong(page: Path) -> None:
    needs("mandoc")
    done = subprocess.run(
        ["mandoc", "-Tlint", "-Wwarning", str(page)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    told = [one for one in done.stdout.splitlines() if "missing date" not in one]
    assert told == []  # it has no date: the same page is made each time


def test_groff_finds_nothing_wrong(page: Path) -> None:
    needs("groff")
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z", str(page)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""


def test_the_page_reads_as_it_was_written(page: Path) -> None:
    needs("mandoc")
    done = subprocess.run(
        ["mandoc", "-Tutf8", "-O", "width=200", str(page)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    shown = re.sub(r".\x08", "", done.stdout)
    for text in ("--hide-hosts, --no-hide-hosts", "kubectl kvdoctor [OPTION ...] [POD]",
                 "source <(kvdoctor completion bash) in ~/.bashrc", "KVDOCTOR_CONFIG"):  # fmt: skip
        assert text in shown
    assert "\\" not in shown


def test_every_variable_of_ours_is_in_the_manual(page: Path) -> None:
    text = page.read_text("utf-8")
    used = set()
    for file in PACKAGE.rglob("*.py"):
        used |= set(re.findall(r"\bKVDOCTOR_[A-Z]+\b", file.read_text("utf-8")))
    assert used >= {"KVDOCTOR_CONFIG", "KVDOCTOR_HISTORY", "KVDOCTOR_KNOWLEDGE"}
    assert not [name for name in used if name not in text]


def test_the_plain_form_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    main(["man", "--plain"])
    told = capsys.readouterr().out
    assert told.startswith("NAME\n")
    assert max(map(len, told.splitlines())) <= 100
    assert "--no-hide-hosts" in told
