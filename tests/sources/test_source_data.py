"""The data files: well formed, of known origin, and equal to the output of their script."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.sources.catalogue import SOURCE_IDS
from headwater.sources.outcomes import NothingReason
from headwater.sources.vocabulary import ALIASES, choose_source, read_lines, read_pairs
from tests.support.sizes import ROOT

FOLDER = ROOT / "src" / "headwater" / "sources"
SCRIPT = ROOT / "scripts" / "refresh_sources.py"
FILES = sorted(path.name for path in FOLDER.glob("*.txt"))
PATTERN = re.compile(
    r"(android-app://[a-z0-9_.]+|(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+(/[a-z0-9/]+)?|[a-z0-9-]+\*?\.\*)"
)
IS_COMMENT = re.compile("#").match
TARGETS = set(ALIASES.values())


@pytest.mark.parametrize("file", FILES)
def test_every_file_says_where_it_is_from(file: str) -> None:
    lines = (FOLDER / file).read_text(encoding="utf-8").splitlines()
    header = " ".join(line.lstrip("# ") for line in itertools.takewhile(IS_COMMENT, lines))
    is_compiled_here = "Compiled by the authors of Headwater" in header
    assert is_compiled_here or re.search(r"Origin: \S+, commit [0-9a-f]{40} .*Licence: CC0 1\.0", header)
    assert f"`{file}`" in (ROOT / "docs" / "attribution.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", ["referrers.txt", "referrers_matomo.txt", "never_sources.txt"])
def test_patterns_are_well_formed_and_once(file: str) -> None:
    patterns = [pattern for pattern, _ in read_pairs(file)]
    assert [pattern for pattern in patterns if not PATTERN.fullmatch(pattern)] == []
    assert len(set(patterns)) == len(patterns)
    assert [pattern for pattern in patterns if "www." in pattern] == []


def test_referrers_lead_to_listed_sources() -> None:
    entries = [*read_pairs("referrers.txt"), *read_pairs("referrers_matomo.txt")]
    assert {target for _, target in entries if target not in TARGETS | SOURCE_IDS.keys()} == set()
    assert {choose_source(target, paid=False) for _, target in entries} <= SOURCE_IDS.keys()


def test_our_referrers_repeat_none_of_the_refreshed_ones() -> None:
    assert set(read_pairs("referrers.txt")) & set(read_pairs("referrers_matomo.txt")) == set()


def test_a_host_is_not_both_source_and_excluded() -> None:
    sources = {pattern for pattern, _ in read_pairs("referrers.txt")}
    assert sources & {pattern for pattern, _ in read_pairs("never_sources.txt")} == set()


def test_reasons_and_click_ids_are_well_formed() -> None:
    assert {reason for _, reason in read_pairs("never_sources.txt")} <= set(NothingReason)
    lines = read_lines("click_ids.txt")
    assert all(len(line) == 3 and line[0] == line[0].lower() for line in lines)
    assert len({line[0] for line in lines}) == len(lines)
    assert {line[2] for line in lines} == {"ad", "sign", "link", "mail", "other"}
    assert {choose_source(line[1], paid=True) for line in lines} <= SOURCE_IDS.keys()


ASSISTANTS = """\
ChatGPT:
  - chatgpt.com
  - other.example
Claude:
  - claude.ai
Copilot:
  - copilot.microsoft.com
Deepseek:
  - chat.deepseek.com
Gemini:
  - gemini.google.com
Grok:
  - x.com/i/grok
Perplexity:
  - perplexity.ai
Unlisted:
  - unlisted.example
"""


def write_upstream(folder: Path) -> None:
    """Write a small checkout of the upstream repository, with every name that the script needs."""
    engines = ["Bing", "Brave", "DuckDuckGo", "Google", "Google Images", "Google News",
               "Google Scholar", "Google Custom Search", "Google Video", "Yahoo!", "Yahoo! Images",
               "Yahoo! Japan", "Yahoo! Japan Images", "Yahoo! Japan Videos"]  # fmt: skip
    socials = ["Facebook", "Instagram", "LinkedIn", "Pinterest", "reddit", "Snapchat", "Telegram",
               "Threads", "TikTok", "Twitter", "YouTube"]  # fmt: skip
    hosts = {"Google": "google.{}", "Bing": "'{}.bing.com'", "Google News": "www.news.google.com",
             "Brave": "search.brave.com"}  # fmt: skip
    (folder / "AIAssistants.yml").write_text(ASSISTANTS)
    (folder / "SearchEngines.yml").write_text("".join(
        f"{name}:\n  -\n    urls:\n      - {hosts.get(name, 'other.example')}\n"
        "    params:\n      - www.google.com\n" for name in engines
    ))  # fmt: skip
    (folder / "Socials.yml").write_text("".join(
        f'"{name}":\n  - {name.lower()}.com\n  - m.{name.lower()}.com\n' for name in socials
    ) + "reddit:\n  - com.reddit.frontpage\n")  # fmt: skip
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    date = "2026-01-02T03:04:05Z"
    environment = {**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    subprocess.run([*git, "commit", "-qm", "x"], check=True, env=environment)


def refresh(*arguments: Path | str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *arguments], check=False, capture_output=True, text=True)


def test_refreshing(tmp_path: Path) -> None:
    write_upstream(tmp_path)
    target = tmp_path / "made.txt"
    arguments = [tmp_path, "--target", target]
    assert refresh(*arguments, "--check").returncode == 1
    assert not target.exists()
    assert refresh(*arguments).returncode == 0
    text = target.read_text()
    assert re.search(r"commit [0-9a-f]{40} of 2026-01-02", text)
    lines = [line for line in text.splitlines() if line[0] != "#"]
    assert {"*.chatgpt.com ai_chat_gpt", "google.co.uk google", "*.bing.com bing",
            "news.google.com google", "*.facebook.com facebook", "*.x.com/i/grok ai_grok",
            "android-app://com.reddit.frontpage reddit"} <= set(lines)  # fmt: skip
    assert lines == sorted(lines)
    assert not re.search(r"other|unlisted|\*\.m\.|www\.", text)
    assert refresh(*arguments).returncode == refresh(*arguments, "--check").returncode == 0
    assert target.read_text() == text


def test_refreshing_stops_at_what_it_does_not_know(tmp_path: Path) -> None:
    write_upstream(tmp_path)
    (tmp_path / "Socials.yml").write_text("Facebook: {a: b}\n")
    strange = refresh(tmp_path, "--target", tmp_path / "made.txt")
    assert (strange.returncode, "not understood" in strange.stderr) == (1, True)
    (tmp_path / "Socials.yml").write_text("Facebook:\n  - facebook.com\n")
    missing = refresh(tmp_path, "--target", tmp_path / "made.txt")
    assert "Socials.yml no longer has" in missing.stderr
