"""Rules and pages for other systems: well formed, harmless, and they fire on real logs."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
import yaml
from fuzz.pipeline import shipped

from kvdoctor.cli import main
from kvdoctor.errors import InputError
from kvdoctor.export import elasticsearch, loki, opentelemetry, runbooks, vector
from kvdoctor.export.rules import Left, Rule, escaped, rules

CASES = Path(__file__).with_name("cases")
HEALTHY = ("050-nixl-healthy", "121-healthy-debug", "123-healthy-no-connector")


@cache
def all_rules() -> tuple[list[Rule], list[Left]]:
    return rules(shipped())


def expected(folder: Path) -> str:
    told = yaml.safe_load((folder / "expect.yaml").read_text("utf-8"))
    return str(told.get("record") or "")


FOLDERS = sorted(path.parent for path in CASES.glob("*/expect.yaml"))


def lines_of(folder: Path) -> list[str]:
    texts = [one.read_text("utf-8", "replace") for one in folder.glob("*.log")]
    texts += [one.read_text("utf-8", "replace") for one in folder.glob("log.txt")]
    return [line for text in texts for line in text.split("\n")]


def firing(lines: list[str]) -> set[str]:
    found = set()
    for rule in all_rules()[0]:
        pattern = re.compile(rule.regex)
        if any(rule.literal in line and pattern.search(line) for line in lines):
            found.add(rule.record.id)
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_rules_of_a_record_fire_on_its_real_logs(folder: Path) -> None:
    record = expected(folder)
    left = {one.record.id for one in all_rules()[1]}
    if not record or record == "None" or record in left:
        return
    assert record in firing(lines_of(folder))


@pytest.mark.parametrize("case", HEALTHY)
def test_no_rule_of_an_error_fires_on_a_healthy_log(case: str) -> None:
    loud = {rule.record.id for rule in all_rules()[0] if rule.record.severity == "error"}
    assert not firing(lines_of(CASES / case)) & loud


def test_every_expression_is_of_the_common_subset() -> None:
    for rule in all_rules()[0]:
        re.compile(rule.regex)
        assert not re.search(r"\(\?|\\[0-9]|\\ ", rule.regex), rule.regex
        assert rule.literal.strip() == rule.literal


def test_every_expression_is_taken_by_re2() -> None:
    re2 = pytest.importorskip("re2", reason="google-re2 is not installed")
    for rule in all_rules()[0]:
        re2.compile(rule.regex)


def test_every_record_is_exported_or_named_with_the_reason() -> None:
    made, left = all_rules()
    told = {rule.record.id for rule in made} | {one.record.id for one in left}
    wanted = {
        record.id
        for record in shipped().records.values()
        if record.status not in ("draft", "retired")
    }
    assert told == wanted
    assert len({rule.name for rule in made}) == len(made)


def test_the_rules_file_of_loki_is_yaml_and_holds_no_template() -> None:
    text = loki.render(*all_rules(), {"url": "https://runbooks.example/"})[loki.FILE]
    (group,) = yaml.safe_load(text)["groups"]
    assert len(group["rules"]) == len(all_rules()[0])
    for one in group["rules"]:
        assert re.fullmatch(r"[A-Za-z_]\w*", one["alert"])
        assert "{{" not in json.dumps(one["annotations"])
        assert one["annotations"]["runbook_url"].startswith("https://runbooks.example/")
    assert all(f"#   {one.record.id}: {one.why}" in text for one in all_rules()[1])


def test_a_string_of_logql_survives_quotes_and_backslashes() -> None:
    query = yaml.safe_load(loki.render(all_rules()[0], [], {})[loki.FILE])["groups"][0]["rules"]
    for one, rule in zip(query, all_rules()[0], strict=True):
        strings = re.findall(r'(?:\|=|\|~) ("(?:[^"\\]|\\.)*")', one["expr"])
        assert [json.loads(text) for text in strings] == [rule.literal, rule.regex]


def test_the_percolator_bulk_is_pairs_of_json_lines() -> None:
    files = elasticsearch.render(*all_rules(), {})
    assert json.loads(files["kvdoctor-index.json"])["mappings"]["properties"]["query"]
    rows = [json.loads(line) for line in files["kvdoctor-bulk.ndjson"].splitlines()]
    assert len(rows) == 2 * len(all_rules()[0])
    assert {row["index"]["_id"] for row in rows[::2]} == {rule.name for rule in all_rules()[0]}
    for row in rows[1::2]:
        assert row["query"]["intervals"]["message"]["all_of"]["intervals"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_phrases_of_a_percolator_query_stand_in_their_order_in_real_lines(folder: Path) -> None:
    record = expected(folder)
    own = [rule for rule in all_rules()[0] if rule.record.id == record]
    if not own:
        return
    lines = [" ".join(re.findall(r"\w+", line.lower())) for line in lines_of(folder)]
    wanted = [[" ".join(words) for words in elasticsearch.phrases(rule)] for rule in own]
    assert any(_in_order(line, phrases) for line in lines for phrases in wanted)


def _in_order(line: str, phrases: list[str]) -> bool:
    at = 0
    for phrase in phrases:
        at = line.find(phrase, at)
        if at < 0:
            return False
        at += len(phrase)
    return True


def test_statements_of_the_collector_are_strings_that_close() -> None:
    text = opentelemetry.render(*all_rules(), {})[opentelemetry.FILE]
    (group,) = yaml.safe_load(text)["processors"]["transform/kvdoctor"]["log_statements"]
    assert len(group["statements"]) == 2 * len(all_rules()[0])
    for statement in group["statements"]:
        assert re.sub(r'"(?:[^"\\]|\\.)*"', "S", statement) == (
            "set(attributes[S], S) where IsString(body) and IsMatch(body, S)"
        )


def test_the_program_of_vector_closes_its_strings_and_braces() -> None:
    text = vector.render(*all_rules(), {"inputs": "pods, nodes"})[vector.FILE]
    transform = yaml.safe_load(text)["transforms"]["kvdoctor"]
    assert transform["inputs"] == ["pods", "nodes"]
    bare = re.sub(r"r'[^']*'|\"(?:[^\"\\]|\\.)*\"", "S", transform["source"])
    patterns = {(rule.literal, rule.regex) for rule in all_rules()[0]}
    assert bare.count("{") == bare.count("}") == len(patterns)
    named = re.findall(r'"([\w-]+)"', transform["source"])
    assert {rule.record.id for rule in all_rules()[0]} <= set(named)
    assert "'" not in bare and '"' not in bare.replace('""', "")


def test_a_page_has_the_four_headings_and_lets_nothing_through() -> None:
    pages = runbooks.render(*all_rules(), {})
    assert len(pages) == 1 + len({rule.record.id for rule in all_rules()[0]}) + len(all_rules()[1])
    for name, text in pages.items():
        if name == "README.md":
            continue
        heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
        assert heads == ["Meaning", "Impact", "Diagnosis", "Mitigation"], name
        assert text.count("```") % 2 == 0


def test_special_characters_of_a_message_are_literal() -> None:
    hostile = "a.b*c+(d)|[e]{f}^$\\ 'g' \"h\" `i` {{ .Values }}"
    assert re.fullmatch(escaped(hostile), hostile)


def test_the_same_knowledge_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for _ in range(2):
        assert main(["export", "vector"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_files_go_to_a_folder_and_wrong_usage_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "elasticsearch", "--out", str(tmp_path)]) == 0
    assert len(list(tmp_path.iterdir())) == 3
    assert main(["export", "elasticsearch"]) == 2
    assert main(["export", "loki", "--severity", "loud"]) == 2
    assert main(["export", "loki", "--only", "no-such-record"]) == 2
    capsys.readouterr()
    assert main(["export", "loki", "--only", "nixl-block-size-not-multiple"]) == 0
    text = capsys.readouterr().out
    names = {one["labels"]["kvdoctor_record"] for one in yaml.safe_load(text)["groups"][0]["rules"]}
    assert names == {"nixl-block-size-not-multiple"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("window", "5m]) > 0 or vector(1) #"),
        ("window", "5x"),
        ("by", "pod) or vector(1"),
        ("selector", "not a selector"),
        ("selector", '{app="a"} |= "x"'),
        ("url", "javascript:alert(1)"),
    ],
)
def test_what_loki_would_read_otherwise_is_refused(name: str, said: str) -> None:
    with pytest.raises(InputError, match=f"--{name}"):
        loki.render([], [], {name: said})
    assert main(["export", "loki", f"--{name}", said]) == 2


def test_selectors_ranges_and_labels_of_loki_are_taken() -> None:
    wanted = {"selector": '{app="vllm", ns=~"a|b\\"c"}', "window": "1h30m", "by": "pod,node"}
    text = loki.render(all_rules()[0][:1], [], {**wanted, "url": "https://h/x/#"})[loki.FILE]
    (rule,) = yaml.safe_load(text)["groups"][0]["rules"]
    assert rule["expr"].startswith(f"sum by (pod,node) (count_over_time({wanted['selector']} |= ")
    assert "[1h30m]" in rule["expr"]
