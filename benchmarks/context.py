"""What rows share: the data pack, stand-in contract texts, and generated names and clauses."""

from __future__ import annotations

import gzip
import inspect
import json
import os
import random
import subprocess
import sys
import tempfile
from functools import cached_property
from pathlib import Path

from frame import Skip

ROOT = Path(__file__).resolve().parents[1]


def clear_caches():
    "Forget every text that the package has read, so that no repetition profits from the one before."
    for name, module in list(sys.modules.items()):
        if name.startswith("llm_dojo_scoring"):
            for value in vars(module).values():
                wrapped = getattr(value, "__wrapped__", None)
                if hasattr(value, "cache_clear") and wrapped and inspect.signature(wrapped).parameters:
                    value.cache_clear()
    if document := sys.modules.get("llm_dojo_scoring.document"):
        document._DOCUMENTS.clear()


class Context:
    "Data for the rows, made when first asked for."

    @cached_property
    def pack(self) -> Path:
        "The folder of real run records."
        folder = Path(os.environ.get("DOJO_PACK") or ROOT.parent / "shared" / "data")
        if not (folder / "runs.jsonl.gz").is_file():
            raise Skip("no data pack: set DOJO_PACK to the folder that holds runs.jsonl.gz")
        return folder

    def lines(self, name: str) -> list[dict]:
        with gzip.open(self.pack / name, "rt", encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    @cached_property
    def documents(self) -> Path:
        "Folder of stand-in texts, 60 to 300 KB, one a contract: DOJO_TEXTS, or made for this run."
        if os.environ.get("DOJO_TEXTS"):
            return Path(os.environ["DOJO_TEXTS"])
        maker = self.pack.parent / "checks" / "make_documents.py"
        if not maker.is_file():
            raise Skip("no stand-in texts: set DOJO_TEXTS to a folder of them")
        self._folder = tempfile.TemporaryDirectory(prefix="dojo-texts-")
        subprocess.run([sys.executable, str(maker), self._folder.name], check=True, capture_output=True)
        return Path(self._folder.name)

    @cached_property
    def truth(self) -> dict:
        "Labels of the master table, all spans of every clause, by document key."
        from llm_dojo_scoring.run_labels import read_labels
        from llm_dojo_scoring.taxonomy import field_types_for

        table = self.pack / "master_clauses.csv.gz"
        return read_labels(table, fields=field_types_for("contract"), rule="all_spans")

    def run(self, number: str) -> list[tuple[dict, dict, str]]:
        "Rows of an extraction run that completed: prediction, expected fields, document key."
        from llm_dojo_scoring.master_labels import join_key

        rows = [r for r in self.lines("rows_extraction.jsonl.gz") if r["run"] == number]
        keyed = [(r["predicted"], join_key(r["filename"])) for r in rows if r["status"] == "completed"]
        return [(p, self.truth[key].expected if key in self.truth else {}, key) for p, key in keyed]

    def labels(self, field_name: str, made, n: int) -> list[str]:
        "n different labels of a list field, drawn from the pack; made up where there is none."
        try:
            rows = self.lines("expected.jsonl.gz")
        except Skip:
            return made(n)
        found = dict.fromkeys(
            i for r in rows for i in (r["expected_fields"] or {}).get(field_name) or () if len(i) > 2
        )
        found = random.Random(n).sample(sorted(found), min(n, len(found)))
        return found + made(n)[len(found) :]  # a few made-up ones where the pack has too few

    @cached_property
    def _paths(self) -> dict[str, Path]:
        from llm_dojo_scoring.master_labels import join_key

        return {join_key(path.stem): path for path in sorted(self.documents.glob("*.txt"))}

    def text(self, key: str) -> str:
        "The text of a document; of the first one where it has none."
        return self._paths.get(key, next(iter(self._paths.values()))).read_text(encoding="utf-8")

    @cached_property
    def long_text(self) -> str:
        "A text of 300 KB: the longest stand-in, cut, or a made-up one where there is no pack."
        try:
            longest = max(self.documents.glob("*.txt"), key=lambda path: (path.stat().st_size, path.name))
        except Skip:
            return document()
        return longest.read_text(encoding="utf-8")[:300_000]


_SYLLABLES = (
    "ac bel cor dan el far gen hol in jor kal lum mer nor os par quin ros sol tar ul ven wes xan".split()
)
_KINDS = (
    "Inc.|LLC|Ltd.|Corp.|Holdings, Inc.|Company|Bank, N.A.|Pharmaceuticals, Inc.|Technologies LLC|Partners LP"
).split("|")


def vocabulary(n: int, seed: int = 0) -> list[str]:
    "Different made-up words, the first ones short."
    rng, words = random.Random(seed), dict.fromkeys(())
    while len(words) < n:
        words["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4)))] = None
    return list(words)


def names(n: int, seed: int = 1) -> list[str]:
    "Party names."
    rng, words = random.Random(seed), vocabulary(max(60, 4 * n), 3)
    return [
        f"{' '.join(w.title() for w in rng.sample(words, rng.randint(1, 3)))} {rng.choice(_KINDS)}"
        for _ in range(n)
    ]


def clauses(n: int, seed: int = 2) -> list[str]:
    "Clauses of 12 to 60 words."
    rng, words = (
        random.Random(seed),
        vocabulary(900, 4) + "the of and to shall in any party agreement by or such".split() * 30,
    )
    return [" ".join(rng.choices(words, k=rng.randint(12, 60))).capitalize() + "." for _ in range(n)]


def altered(texts: list[str], seed: int = 5) -> list[str]:
    "The same texts as a model might return them: shuffled, some with a word changed, some invented."
    rng, out = random.Random(seed), []
    words = vocabulary(200, 6)
    for text in texts:
        parts = text.split()
        if rng.random() < 0.5:
            parts[rng.randrange(len(parts))] = rng.choice(words)
        out.append(" ".join(parts) if rng.random() < 0.9 else " ".join(rng.choices(words, k=len(parts))))
    rng.shuffle(out)
    return out


def document(size: int = 300_000, seed: int = 7) -> str:
    "A long text with dates and amounts in it."
    rng, words = random.Random(seed), vocabulary(6000, 8)
    weights = [1 / (i + 3) for i in range(len(words))]
    parts, length = [], 0
    while length < size:
        sentence = " ".join(rng.choices(words, weights, k=rng.randint(8, 40))).capitalize()
        if rng.random() < 0.05:
            month = rng.choice(["January", "May", "October"])
            sentence += f" on {month} {rng.randint(1, 28)}, {rng.randint(1995, 2024)}"
        if rng.random() < 0.03:
            sentence += f" for ${rng.randint(1, 900)},{rng.randint(0, 999):03d}"
        parts.append(sentence + ".")
        length += len(parts[-1]) + 1
    return " ".join(parts)
