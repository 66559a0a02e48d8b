"""Checks that the repository's prose is plain English, and that names are nouns and verb phrases. `make
check` runs it. Prose is docstrings, comments, messages of four words or more, pages and documentation. It
counts turns of phrase that a reader of English stumbles over. Rewrite a sentence that it finds: another word
in the same place seldom helps.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.sizes import ROOT

TREES = {
    "product": (
        "src",
        "docs",
        *(path.name for path in sorted(ROOT.glob("*.md"))),
        "sdks",
        "integrations",
        "deploy",
    ),
    "tests": ("tests", "bench", "scripts"),
}
TEST_DATA = {("tests", "message")}
"""Strings of tests are mostly what the product receives and returns."""
MOST, MOST_OF_A_KIND = 2.5, 3.0
"""The limits for phrases per 1,000 words: in all texts, and in each kind of text."""
PHRASES = {
    "preposition + which": r"\b(?:of|in|by|to|from|with|for|on|at|under|after|before|among|between)"
    r" (?:which|whom)\b",
    "', as' for 'because'": r", as (?!(?:well|if|though|long|soon|many|much|a|an|described|shown|defined"
    r"|required|specified|expected|opposed|documented)\b)[a-z]+",
    "whoever, whatever": r"\b(?:whoever|whatever|wherever|whichever|whomever)\b",
    "somebody, nobody": r"\b(?:somebody|nobody|anybody|everybody)\b",
    "is of, comes to": r"\b(?:is|are|was|were|be|been) of (?!course\b)|\bmade of\b"
    r"|\b(?:comes?|came) to (?:the|a|what|be)\b",
    "so many": r"\bso (?:many|much|few|little)\b(?! that| as)",
    "told": r"\b(?:tell|tells|told|telling)\b",
    "of late": r"\bof (?:then|before|since|late|old|now|today|yesterday|here|there|long ago)\b",
    "but for": r"\b(?:but|save) for\b|\ball but\b",
    "any more": r"\bany more\b|\bno more\b(?! than)",
    "that which": r"\b(?:that|those) of\b|\bthat which\b|\b(?:is|are) what\b",
    "goes by": r"\b(?:goes|go|going|went) by\b",
    "there is none": r"\b(?:is|are|was|be|has|have|names?) none\b",
    "stands, lies": r"\b(?:stands?|stood|lies|lie) (?:in|at|on|beside|with|for|before|there|here|by)\b",
    "at last": r"\bat last\b|\bat the latest\b|\bfor good\b",
}
PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in PHRASES.items()}
WORD = re.compile("[A-Za-z][A-Za-z'\u2019-]*")
STATEMENT = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE|FROM)\b")

PRONOUNS = {
    *("each", "at", "of", "place", "piece", "part", "own", "rest", "whole", "most", "then", "now", "every"),
    *("such", "other", "others", "both", "of_query", "of_day", "here", "there"),
}
PARTICIPLES = {
    *("made", "kept", "chosen", "wanted", "listed", "left", "known", "taken", "named", "held", "sent", "put"),
    *("lacking", "together", "gathered", "present", "added", "noted", "read"),
}
MOST_PRONOUNS, MOST_PARTICIPLES = 4.0, 3.0
"""The limits per 1,000 names of variables and parameters."""
OF = re.compile(r"^_?of_|_of$|_of_")
MOST_OF = 30
"""The limit for functions named `of_x` or `x_of`, except tests, whose names are sentences."""


class Text(NamedTuple):
    """A text of one or more sentences, and its first line."""

    line: int
    kind: str
    words: str


def python_texts(source: str) -> Iterator[Text]:
    """Yield the docstrings, messages and comments of a module."""
    tree = ast.parse(source)
    docstrings: set[ast.Constant] = set()
    for node in ast.walk(tree):
        for statement in (
            getattr(node, "body", None) or () if not isinstance(node, ast.Lambda | ast.IfExp) else ()
        ):
            match statement:
                case ast.Expr(value=ast.Constant(value=str(words)) as constant):
                    docstrings.add(constant)
                    yield Text(statement.lineno, "docstring", words)
                case _:
                    pass
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(words)) if node not in docstrings and is_message(words):
                yield Text(node.lineno, "message", words)
            case _:
                pass
    yield from comments(source)


def is_message(text: str) -> bool:
    return " " in text.strip() and len(WORD.findall(text)) >= 4 and not STATEMENT.search(text)


def comments(source: str) -> Iterator[Text]:
    """Yield the comments of a module, with consecutive lines joined."""
    start, lines = 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != start + len(lines):
                yield Text(start, "comment", " ".join(lines))
                start, lines = token.start[0], []
            lines.append(token.string.lstrip("#: "))
    yield Text(start, "comment", " ".join(lines))


def markdown_texts(source: str) -> Iterator[Text]:
    """Yield the paragraphs of a page, without code."""
    prose = re.sub(
        r"^ *```.*?^ *```", lambda block: "\n" * block[0].count("\n"), source, flags=re.MULTILINE | re.DOTALL
    )
    line = 1
    for paragraph in re.split(r"(\n\s*\n)", prose):
        yield Text(line, "docs", re.sub(r"`[^`]*`|\]\([^)]*\)", " ", paragraph))
        line += paragraph.count("\n")


def page_texts(source: str) -> Iterator[Text]:
    for number, line in enumerate(source.splitlines(), 1):
        words = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", " ", line)
        if len(WORD.findall(words)) >= 3:
            yield Text(number, "page", words)


def sql_texts(source: str) -> Iterator[Text]:
    for number, line in enumerate(source.splitlines(), 1):
        yield Text(number, "comment", line.partition("--")[2])


def script_texts(source: str) -> Iterator[Text]:
    for number, line in enumerate(source.splitlines(), 1):
        for match in re.finditer(r"(?://|#|\*) (.+)|[\"'`]([^\"'`]{12,})[\"'`]", line):
            words = match[1] or match[2]
            if len(WORD.findall(words)) >= 4:
                yield Text(number, "script", words)


READERS: dict[str, Callable[[str], Iterator[Text]]] = {
    ".py": python_texts, ".md": markdown_texts, ".html": page_texts, ".liquid": page_texts,
    ".sql": sql_texts, ".ts": script_texts, ".js": script_texts, ".php": script_texts,
}  # fmt: skip


class Prose:
    """The number of words and of phrases found, by kind of text."""

    def __init__(self) -> None:
        self.words: Counter[str] = Counter()
        self.phrases: Counter[str] = Counter()
        self.places: list[str] = []

    def add(self, location: str, text: Text) -> None:
        self.words[text.kind] += len(WORD.findall(text.words))
        found = [match[0] for pattern in PATTERNS.values() for match in pattern.finditer(text.words)]
        self.phrases[text.kind] += len(found)
        if found:
            self.places.append(f"{location}:{text.line} ({text.kind}): {', '.join(found)}")

    def rates(self) -> dict[str, float]:
        """Return phrases per 1,000 words, by kind and overall."""
        rates = {kind: 1000 * self.phrases[kind] / max(1, count) for kind, count in self.words.items()}
        return {**rates, "all": 1000 * self.phrases.total() / max(1, self.words.total())}


def read_prose(tree: str) -> Prose:
    prose = Prose()
    for place in TREES[tree]:
        root = ROOT / place
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.suffix in READERS and "node_modules" not in path.parts:
                for text in READERS[path.suffix](path.read_text(encoding="utf-8", errors="replace")):
                    if (tree, text.kind) not in TEST_DATA:
                        prose.add(str(path.relative_to(ROOT)), text)
    return prose


def names_in(tree: ast.Module) -> Iterator[str]:
    """Yield the names of variables and parameters."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef(args=args) | ast.AsyncFunctionDef(args=args):
                yield from (arg.arg for arg in (*args.args, *args.kwonlyargs))
            case _:
                pass


def name_faults(trees: dict[Path, ast.Module]) -> Iterator[str]:
    names = [(name, path) for path, tree in trees.items() for name in names_in(tree)]
    for title, words, most in (
        ("pronouns", PRONOUNS, MOST_PRONOUNS), ("participles", PARTICIPLES, MOST_PARTICIPLES),
    ):  # fmt: skip
        places = Counter(path.relative_to(ROOT) for name, path in names if name in words)
        rate = 1000 * places.total() / len(names)
        if rate > most:
            crowded = ", ".join(f"{place} {count}" for place, count in places.most_common(10))
            yield f"names that are {title}: {rate:.1f} in 1,000, at most {most}; {crowded}"
    functions = [
        node.name for tree in trees.values() for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and OF.search(node.name) and not node.name.startswith("test_")
    ]  # fmt: skip
    if len(functions) > MOST_OF:
        examples = ", ".join(functions[:20])
        yield f"functions named of_x or x_of: {len(functions)}, at most {MOST_OF}; {examples}"


def faults() -> Iterator[str]:
    """Yield a message for every limit that is exceeded."""
    for tree in TREES:
        for kind, rate in read_prose(tree).rates().items():
            most = MOST if kind == "all" else MOST_OF_A_KIND
            if rate > most:
                yield f"phrases in 1,000 words of {kind} of {tree}: {rate:.2f}, at most {most}"
    for places in (("src",), TREES["tests"]):
        paths = [path for place in places for path in sorted((ROOT / place).rglob("*.py"))]
        yield from name_faults({path: ast.parse(path.read_text(encoding="utf-8")) for path in paths})


def main() -> int:
    """Print the exceeded limits and, with `--places`, every phrase. Return 1 when a limit is exceeded."""
    if "--places" in sys.argv:
        print("\n".join(place for tree in TREES for place in read_prose(tree).places))  # noqa: T201 - its output
    found = list(faults())
    print("\n".join(found))  # noqa: T201 - its output
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
