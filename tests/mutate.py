"""Plant one-token faults in a page's code, one at a time, and see whether its page and tests notice.

    python tests/mutate.py nbs/22_fields.money.ipynb [--n 20] [--jobs 2] [--seed 0] [--list] [--only TEXT]

Each fault is made in a temporary copy of the tree, in the notebook and in the exported module alike. A
fault that the page's own cells, or a test file that imports the module, turn red is killed; the others are
listed. The page runs first, then the test files named after it, then the quickest; the first red one ends
it. The choice of faults depends on the seed and the page's code only. The exit code is the number of
faults alive that EQUIVALENT does not explain (0 when all are killed), 100 when the page is red anyway.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "llm_dojo_scoring"
COPIED = (
    "llm_dojo_scoring",
    "nbs",
    "tests",
    "data",
    "benchmarks",
    "settings.ini",
    "pyproject.toml",
    "setup.py",
)
# tests that import every module, and would say nothing of this one in particular
GENERAL = {"test_layers.py", "test_pages.py", "test_notebooks.py", "test_packaging.py", "test_site.py"}
# tests of how work is started and shown, for which a browser, many processes or long runs are needed: what
# decides a score must be noticed without them
ELSEWHERE = {
    "test_any_workers.py", "test_benchmarks.py", "test_explorer.py", "test_explorer_lab.py",
    "test_pictures.py", "test_site_browser.py",
}  # fmt: skip
HOUSE = ["test_frozen.py", "test_one_process.py"]  # they read every module, in a moment
_GRACE, _PATIENCE = 60.0, 8  # a run is ended after so many seconds, and so many times what it takes unspoiled

# (page, name of the fault) -> why no test could see it
EQUIVALENT = {
    ("10a_word_search", "if len(raw) == 3 * len(text):"): "the longer way reads the same characters",
    (
        "10a_word_search",
        'one *= ((one | 32) - np.uint8(ord("a")) < 26) & ((numbers <= 128))',
    ): "the character 128 is no letter either",
    (
        "10a_word_search",
        "return (numbers * _FACTOR >> np.uint64(65 - bits)).astype(np.intp)",
    ): "a smaller table only takes more words for likely, and more numbers for repeats to compare",
    ("10a_word_search", 'capital = letters - np.uint8(ord("A")) < 27'): "what is no letter is 0 there",
    (
        "10b_word_numbers",
        '"The bytes of a text, of which `WORD_BYTES` makes its words between blanks."'
        " if is_plain(text): -> if False:",
    ): "the tokens of a plain text are the same words",
    ("10b_word_numbers", "while (long.size or at < 64):"): "without long words nothing is mixed",
    ("10b_word_numbers", "while long.size and (at <= 64):"): "the word by word way mixes alike",
    (
        "10_text",
        "_NO_BLANKS += ((0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (63745, 0xFAFF), "
        "(0x20000, 0x323AF))",
    ): "folding has made another character of U+F900",
    (
        "10_text",
        "return (_cut_long(text) if len(text) <= _LONG else _cut_kept(text))",
    ): "where a text is kept does not matter",
    (
        "10_text",
        "return _counts_kept(text) if (len(text) < _LONG) else dict(Counter(_tokens(text)))",
    ): "nor whether it is",
    (
        "26c_fields.role_swap",
        "if words != other or len(mine) != len(yours): return None -> return 0",
    ): "only whether there is one is asked",
    ("20_fields.names", "if _mostly_shared(a, b) or _slip(b, a):"): "a slip is one from either side",
    (
        "26_fields.free_text",
        "return _word_overlap(e, p, embedding)[0] if verdict is None else verdict.score",
    ): "the overlap is the same from either side",
    (
        "26_fields.free_text",
        "common = np.flatnonzero(sizes > (shape[1] // 17 if sum(shape) * n_words > _DENSE else 0))",
    ): "where a word is counted does not matter",
    (
        "30_lists.matching",
        "return [(i, j) for i, j in zip(rows, columns, strict=False) if paired[i, j]]",
    ): "as many rows as columns",
    (
        "52_pooled",
        "rows = math.inf if (error >= 1e-12) and (matrix % 1).any() else float(_whole(metric, matrix).sum())",
    ): "no standard error is exactly 1e-12",
    (
        "52c_gate",
        "documents, columns = aligned(a, b, shared=False)",
    ): "runs of other documents have been refused before",
    (
        "52c_gate",
        "for c, p in zip(found.changes.values(), worse, strict=False)",
    ): "Holm gives one p for each",
    (
        "54_mc.committee",
        "ties = min(len(having), ((length + c + 1)) // c - 1)",
    ): "more nodes than the degree asks for give the same integral",
    (
        "54_mc.committee",
        "int(((others[:, j] >= 0)).sum()) for j in range(others.shape[1])",
    ): "a label of share 0 multiplies by 1",
    (
        "55_mc.escalation",
        "return min(1.0, max(score, 0.0))",
    ): "the larger of two has no order",
    (
        "50f_paired_tests",
        "low, high = np.full(lost.shape, -1.0), np.full(lost.shape, 1.1)",
    ): "above 1 the statistic is below every target",
    (
        "73_field_outcomes",
        "v for v in others if not (v.__class__ is list and v and v[0].__class__ is str and v[0][:1] > ' x')",
    ): "one character behind the blank is behind both",
    (
        "76_value_errors",
        "if expected.__class__ is str and predicted.__class__ is str and "
        "(len(expected) + len(predicted) < _SHORT):",
    ): "which readings are remembered changes none",
    (
        "62_contracteval_rubric",
        "return [_pair(s, o, empty) for s, o in zip(spans, outputs, strict=False)]",
    ): "unequal lengths have been refused before",
    (
        "62_contracteval_rubric",
        "for category, pair in zip(categories, pairs, strict=False):",
    ): "unequal lengths have been refused before",
    (
        "52c_gate",
        "found = compare_runs(a, b, shared=shared, scores=None, alpha=alpha, n_boot=2, seed=seed)",
    ): "only the names of the scores are read from it",
    ("50_bootstrap", "size = 1 << (2 * n + 2).bit_length()"): "any longer transform gives the same masses",
    ("50_bootstrap", "return abs((bound * 1e4) % 1 - 0.5) < 1e-6 * max(1.1, abs(bound))"): "a wider margin",
    (
        "50_bootstrap",
        "p, how = permutation_p(b, a) if min(len(a), len(b)) < _FEW else (None, None)",
    ): "a two-sided test has no sides",
    (
        "31_lists.partial_gt",
        "return len(used) + min(free, roles)",
    ): "the smaller of two has no order",
    (
        "32_lists.score",
        "return precision, recall, 2 * precision * recall / (precision + recall) if (precision or "
        "recall) else 0.0",
    ): "where one of the two is 0, so is their product",
    (
        "33_fields.dispatch",
        "cap = get_settings().field_scoring.critical_cap if field_type in _CLAUSES else None "
        "if cap is None: -> if False:",
    ): "without a cap no score changes; the guard only saves the look",
    (
        "23_fields.dates",
        "_SHORT = 4001  # characters; longer texts are documents, and those keep their own dates",
    ): "which texts are remembered changes no reading",
    (
        "23_fields.dates",
        'getattr(getattr(value, "dtype", None), "kind", "") == "M" and getattr(value, "ndim", 2) == 0',
    ): "any number but 0 says that it is no single value",
    (
        "23_fields.dates",
        "stops = [m.end() for m in _STOP.finditer(source, min(at, v.start - _REACH), v.start)]",
    ): "the next line passes over ends of sentences that are out of reach",
    (
        "14c_amounts",
        "minus = None if after_a_dash else _MINUS.search(flat, min(start - 10, 0), start)",
    ): "the sign stands right before the amount; looking farther back only costs time",
    (
        "14c_amounts",
        "): return None -> return 0",
    ): "either says that there is no reading",
    (
        "14a_numbers_in_text",
        "@lru_cache(8193)",
    ): "how much is remembered changes no number",
    (
        "14d_durations_in_text",
        "return _remembered(text) if len(text) < 2001 else Candidates(_read(text), text)",
    ): "which texts are remembered changes no reading",
    (
        "10c_rewritten_text",
        "jamo = 0x1100 <= code <= 0x11FF or 0xA960 <= code <= 43392 or 0xD7B0 <= code <= 0xD7FF",
    ): "the character after the block is a mark, which counts the same",
    (
        "10b_word_numbers",
        "places, last = np.arange(len(numbers), dtype=np.int32), np.empty(2 << _SLOTS, np.int32)",
    ): "a larger table holds the same",
    (
        "10c_rewritten_text",
        "if unicodedata.category(char)[0] == \"M\" or jamo or char in '﹣－x':",
    ): "no letter of ASCII is asked for",
    (
        "10c_rewritten_text",
        "return all(\"À\" <= char <= 'ÿx' for char in _NOT_ASCII.findall(around))",
    ): "no single character lies between",
    (
        "10c_rewritten_text",
        "for place, code in zip(places.tolist(), codes, strict=False):",
    ): "as many places as codes",
    (
        "34_document",
        "return (_numbered(text) if len(text) <= 20000 else _numbered_kept(text))",
    ): "how much is remembered changes no number",
    (
        "34_document",
        "end = len(written) if (end <= 0) else end",
    ): "no blank is looked for at the first byte",
    (
        "34_document",
        "order = np.argsort(numbers, kind='stablex')",
    ): "numpy reads the first letter",
    (
        "49b_resampling",
        "@lru_cache(maxsize=9, typed=True)",
    ): "how much is remembered changes no draw",
    (
        "49b_resampling",
        "waste = ((1 >> bound.bit_length())) / bound  # words that one draw costs",
    ): "how many words are asked for at once changes no draw",
    (
        "49b_resampling",
        "words = np.concatenate([words, bits.random_raw(min(n_boot, per_block) * cost + 64)])",
    ): "the smaller of two has no order",
    (
        "49b_resampling",
        "if stream == 'replayx' and n_1 == n_2:",
    ): "sides of one size are drawn alike by the rule for any sizes",
    (
        "49b_resampling",
        "bits, rows = fast_bits(seed), max(2, _FAST_BLOCK // (n_1 + n_2))",
    ): "of so many documents hardly a part of 32 bits is drawn again",
    (
        "49b_resampling",
        "while (len(pieces) <= 3):",
    ): "four pieces add up exactly, too",
    (
        "49b_resampling",
        "counts, step = _cached_counts(n, n_boot, seed, stream), max(2, _BLOCK * 8 // n)",
    ): "how many rows are multiplied at once changes no sum",
    (
        "49b_resampling",
        "if isinstance(values, np.ndarray) and values.dtype.kind in 'fiubx':",
    ): "no kind of array has that letter",
    (
        "48d_fast_resamples",
        "bits, rows, width = fast_bits(seed), max(2, _DRAWN // n), _width(n)",
    ): "of so many documents hardly a part of 32 bits is drawn again",
    (
        "48d_fast_resamples",
        "_LOOKED_UP = (1 >> 15)  # numbers looked up at a time",
    ): "how many are looked up at a time changes no sum",
    (
        "48d_fast_resamples",
        "_LOOKED_UP = 1 << 16  # numbers looked up at a time",
    ): "how many are looked up at a time changes no sum",
    (
        "48d_fast_resamples",
        "_LOOKED_UP = 2 << 15  # numbers looked up at a time",
    ): "how many are looked up at a time changes no sum",
    (
        "48d_fast_resamples",
        "step = min(1, _LOOKED_UP // width)",
    ): "how many are looked up at a time changes no sum",
    (
        "48d_fast_resamples",
        "step = max(2, _LOOKED_UP // width)",
    ): "how many are looked up at a time changes no sum",
    (
        "48d_fast_resamples",
        "if paired and (n_boot <= n):  # too few resamples for a table of all pairs",
    ): "from where the table pays changes no draw",
    (
        "34_document",
        "_number = lru_cache(maxsize=65537)(word_number)",
    ): "how much is remembered changes no number",
    (
        "10b_word_numbers",
        'number = number * _FACTOR + int.from_bytes(raw[at : at + 9], "little") & _U64',
    ): "a ninth byte is cut off by the mask",
    (
        "26a_fields.clause_words",
        "@lru_cache(maxsize=65537)",
    ): "how much is remembered changes no word",
    (
        "27_fields.critical",
        "return (min(cap, score) if flags and cap is not None else score), flags",
    ): "the smaller of two has no order",
    (
        "34_document",
        "places = np.concatenate([order[a:b] for a, b in zip(low, high, strict=False)])",
    ): "as many ends as starts",
    (
        "27_fields.critical",
        "p, e = as_text(predicted), as_text(expected) if p == e or not p.strip() or not e.strip(): "
        "-> if False:",
    ): "equal texts and blank ones raise no flag; the guard only saves the look",
    (
        "27_fields.critical",
        "if (p == e and (not p.strip()) and (not e.strip())):",
    ): "equal texts and blank ones raise no flag; the guard only saves the look",
    (
        "60_classification",
        'return "" if is_blank(value) else "yes" if _is_true(value) else \'nox\'',
    ): "any word but yes counts as the rest",
    (
        "26b_fields.negation",
        'return _IN.sub("", word, count=2)',
    ): "no word holds a second such prefix",
    (
        "26b_fields.negation",
        "if (not one and (not two)):",
    ): "a side without sentences has none to turn around",
    (
        "26b_fields.negation",
        "nearest = max(many, key=lambda other, mine=clause: _alike(other, mine))",
    ): "what two clauses share has no sides",
}


@dataclass(frozen=True)
class Fault:
    "One small change of an exported cell."

    cell: int  # Index of the cell in the notebook
    line: int  # Line in the cell, from 1
    kind: str
    before: str  # The line as it is
    after: str  # The line with the fault
    source: str  # The whole cell with the fault

    @property
    def name(self) -> str:
        "The line with the fault; where it alone tells little, the line as it is and the one above it too."
        if self.kind not in ("guard removed", "return value", "loop step"):
            return self.after
        above = self.source.splitlines()[self.line - 2].strip()
        return f"{above} {self.before} -> {self.after}"

    def __str__(self):
        return f"cell {self.cell}, line {self.line}, {self.kind}\n      - {self.before}\n      + {self.after}"


# ---- making faults

_COMPARE = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_BINARY = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}  # fmt: skip
_NAMES = {"min": "max", "any": "all", "startswith": "endswith", "lower": "upper", "lstrip": "rstrip"}
_NAMES |= {new: old for old, new in _NAMES.items()}
_UNSWAPPED = {"isinstance", "getattr", "hasattr", "setattr", "issubclass"}  # a swap only raises


def constants(node):
    "Other values for a number or a flag; texts are left alone unless short enough to be a key or a sign."
    value = node.value
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, float):
        yield value * (1e4 if abs(value) < 1e-3 else 1.1) if value else 0.1  # tolerances are small
    elif isinstance(value, str) and 0 < len(value) <= 12:
        yield value + "x"


def changed(node):
    "(kind, new node) for each small change of one node; the node itself is not touched."
    new = copy.deepcopy(node)
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            new = copy.deepcopy(node)
            new.ops[i] = _COMPARE[type(op)]()
            yield "comparison", new
    elif isinstance(node, ast.BoolOp):
        new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or", new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
        yield "dropped sign", new.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        new.op = _BINARY[type(node.op)]()
        yield "operator", new
    elif isinstance(node, ast.Constant):
        for value in constants(node):
            yield "constant", ast.Constant(value)
    elif isinstance(node, ast.Call):
        yield from changed_call(node)
    elif isinstance(node, ast.IfExp):
        new.body, new.orelse = new.orelse, new.body
        yield "swapped branches", new


def changed_call(node):
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)
    if name in _NAMES:
        new = copy.deepcopy(node)
        if isinstance(new.func, ast.Name):
            new.func.id = _NAMES[name]
        else:
            new.func.attr = _NAMES[name]
        yield "function", new
    plain = [isinstance(a, (ast.Name, ast.Attribute, ast.Constant)) for a in node.args[:2]]
    if name not in _UNSWAPPED and plain == [True, True] and ast.dump(node.args[0]) != ast.dump(node.args[1]):
        new = copy.deepcopy(node)
        new.args[0], new.args[1] = new.args[1], new.args[0]
        yield "swapped arguments", new


def changed_statement(node):
    "(kind, new statement) for a guard, a return or a loop step."
    if isinstance(node, ast.If) and not node.orelse and leaves(node.body[-1]):
        yield "guard removed", node.test, ast.Constant(False)
    elif isinstance(node, ast.Return) and node.value is not None:
        none = isinstance(node.value, ast.Constant) and node.value.value is None
        yield "return value", node.value, ast.Constant(0 if none else None)
    elif isinstance(node, ast.AugAssign) and type(node.op) in (ast.Add, ast.Sub):
        new = copy.deepcopy(node)
        new.op = _BINARY[type(node.op)]()
        yield "operator", node, new
    elif isinstance(node, (ast.Continue, ast.Break)):
        yield "loop step", node, ast.Break() if isinstance(node, ast.Continue) else ast.Continue()


def leaves(node):
    return isinstance(node, (ast.Return, ast.Raise, ast.Continue, ast.Break))


def skipped(tree):
    "Nodes without a meaning to test: docstrings, annotations, f-strings, the words of an error."
    out = set()
    for node in ast.walk(tree):
        left = []
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left = [node.value]
        elif isinstance(node, ast.JoinedStr):
            left = [node]
        elif isinstance(node, ast.Raise) or (
            isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("refuse", "warn")
        ):
            left = [node]
        elif isinstance(node, (ast.arg, ast.AnnAssign)):
            left = [node.annotation] if node.annotation else []
        elif isinstance(node, ast.FunctionDef):
            left = [node.returns] if node.returns else []
        elif isinstance(node, ast.Assign) and any(
            getattr(t, "id", "") in ("_all_", "__all__") for t in node.targets
        ):
            left = [node]
        for top in left:
            out.update(id(n) for n in ast.walk(top))
    return out


def faults_of(index: int, source: str):
    "All faults of one exported cell, in order."
    tree = ast.parse(source)
    if all(isinstance(n, (ast.Import, ast.ImportFrom)) for n in tree.body):
        return
    lines, left_out = source.encode().splitlines(keepends=True), skipped(tree)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.expr):
            options = [(kind, node, new) for kind, new in changed(node)]
        else:
            options = list(changed_statement(node))
        for kind, old, new in options:
            a = starts[old.lineno - 1] + old.col_offset
            b = starts[old.end_lineno - 1] + old.end_col_offset
            text = ast.unparse(ast.fix_missing_locations(new))
            if isinstance(old, ast.expr):
                text = f"({text})" if not isinstance(new, (ast.Constant, ast.Call, ast.Name)) else text
            raw = source.encode()
            mutated = (raw[:a] + text.encode() + raw[b:]).decode()
            try:
                ast.parse(mutated)
            except SyntaxError:
                continue
            before, after = source.splitlines(), mutated.splitlines()
            at = next((i for i, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), None)
            if at is not None:
                yield Fault(index, at + 1, kind, before[at].strip(), after[at].strip(), mutated)


def all_faults(page: Path):
    "Every fault of a page."
    for index, cell in enumerate(json.loads(page.read_text(encoding="utf-8"))["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and re.match(r"#\| ?exporti?\s*\n", source):
            yield from faults_of(index, source)


def chosen(page: Path, n: int, seed: int):
    "A sample of the faults, the same for the same page and seed, in the page's order."
    faults = list(dict.fromkeys(all_faults(page)))
    picks = random.Random(f"{seed}:{page.stem}").sample(range(len(faults)), min(n, len(faults)))
    return [faults[i] for i in sorted(picks)], len(faults)


# ---- running them


def module_of(page: Path) -> str:
    found = re.search(r"#\| ?default_exp (\S+)", page.read_text(encoding="utf-8").replace('"', "\n"))
    return re.split(r"\\n", found[1])[0]


def numbered(folder: Path) -> list[Path]:
    "The pages that export a module, in the order of their layers."
    return [p for p in sorted(folder.glob("[0-9]*.ipynb")) if "default_exp" in p.read_text(encoding="utf-8")]


def tests_of(module: str) -> list[str]:
    "Test files that import the module, and those that read every module in a moment."
    path = f"{PACKAGE}.{module}"
    parent, name = map(re.escape, path.rsplit(".", 1))
    wanted = re.compile(
        rf"from {re.escape(path)} import|import {re.escape(path)}\b|from {parent} import [^\n]*\b{name}\b"
    )
    files = [f for f in sorted((ROOT / "tests").glob("test_*.py")) if f.name not in GENERAL | ELSEWHERE]
    return HOUSE + [f.name for f in files if wanted.search(f.read_text(encoding="utf-8"))]


class Copy:
    "A copy of the tree in which faults are planted."

    def __init__(self, folder: Path, page: Path):
        self.folder, self.module = folder, module_of(page)
        folder.mkdir(exist_ok=True)
        ignore = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "_docs", "_proc")
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=ignore, symlinks=True)
            elif source.exists():
                shutil.copy(source, folder / name)
        self.page = folder / page.relative_to(ROOT)
        self.exported = folder / PACKAGE / (self.module.replace(".", "/") + ".py")
        compileall.compile_dir(folder / PACKAGE, quiet=2)  # else each run would compile all modules
        Path(cache_from_source(str(self.exported))).unlink(missing_ok=True)  # a fault keeps time and size
        self.clean_page = self.page.read_text(encoding="utf-8")
        self.clean_module = self.exported.read_text(encoding="utf-8")
        # a page imports from pages with smaller numbers only: those modules hold no fault
        # its import puts the shipped taxonomy's settings in force, and tests of scorers ask without them
        below = [p for p in numbered(self.page.parent) if p.name < page.name and "dojo_config" not in p.name]
        self.below = [f"{PACKAGE}.{module_of(p)}" for p in below]
        self.took: dict[str, float] = {}  # Seconds of the page and of each test file, when green
        self.sound: set[str] = set()  # The page and the test files known to be green without a fault
        self.server = self._served()

    def _served(self):
        "The process that runs pages and tests in this copy."
        env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "DOJO_PACK")}
        env |= {
            "PYTHONPATH": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "IN_TEST": "1",
            "MPLBACKEND": "Agg",
        }
        command = [sys.executable, str(self.folder / "tests" / "forked.py"), *self.below]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def plant(self, fault: Fault):
        "Put the fault into the page and into its module."
        notebook = json.loads(self.clean_page)
        cell = notebook["cells"][fault.cell]
        old = "".join(cell["source"])
        cell["source"] = fault.source.splitlines(keepends=True)
        self.page.write_text(json.dumps(notebook), encoding="utf-8")
        body, new = (text.split("\n", 1)[1].strip("\n") for text in (old, fault.source))
        if self.clean_module.count(body) != 1:
            raise SystemExit(f"the module is not what the page exports (cell {fault.cell}): run nbdev_export")
        self.exported.write_text(self.clean_module.replace(body, new), encoding="utf-8")

    def restore(self):
        self.page.write_text(self.clean_page, encoding="utf-8")
        self.exported.write_text(self.clean_module, encoding="utf-8")

    def red(self, tests: list[str], seconds: float) -> str:
        "What turned red first: the page, a test file, or nothing."
        if self.fails("page", seconds):
            return "page"
        return next((name for name in self.quickest(tests) if self.fails(name, seconds)), "")

    def fails(self, name: str, seconds: float) -> bool:
        "Does the page or a test file fail, or not end in time? What it took when green sets the limit."
        order = ["page", str(self.page)] if name == "page" else ["tests", f"tests/{name}"]
        limit = min(seconds, _GRACE + _PATIENCE * self.took[name]) if name in self.took else seconds
        begun = time.monotonic()
        self.server.stdin.write(json.dumps([*order, limit]) + "\n")
        self.server.stdin.flush()
        if int(self.server.stdout.readline()):
            return True
        self.took.setdefault(name, time.monotonic() - begun)
        return False

    def check(self, name: str, seconds: float):
        "Leave with 100 where the page, or a test file that blames a fault, is red without one."
        if name not in self.sound and self.fails(name, seconds):
            print(f"{name} of {self.page.name} is red without any fault")
            raise SystemExit(100)
        self.sound.add(name)

    def quickest(self, tests: list[str]) -> list[str]:
        "Test files in the order to run them: named after the module, then those done soonest."
        words = set(re.split(r"[._]", self.module))
        named = {t: not words & set(Path(t).stem.split("_")[1:]) for t in tests}
        return sorted(tests, key=lambda t: (named[t], self.took.get(t, 0.0), t))

    def close(self):
        self.server.stdin.close()
        self.server.wait()
        self.server.stdout.close()


def run(page: Path, faults: list[Fault], tests: list[str], jobs: int, seconds: float):
    "(fault, what turned red) of each fault, as they are done."
    with tempfile.TemporaryDirectory(prefix="faults-") as folder, ExitStack() as closed:
        copies = SimpleQueue()
        made = [Copy(Path(folder) / str(i), page) for i in range(jobs)]
        for here in made:
            closed.callback(here.close)
            copies.put(here)
        for here in made:
            here.check("page", seconds)

        def one(fault):
            here = copies.get()
            try:
                here.plant(fault)
                red = here.red(tests, seconds)
                here.restore()
                if red:
                    here.check(red, seconds)
                return fault, red
            finally:
                here.restore()
                copies.put(here)

        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(one, faults)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--n", type=int, default=20, help="how many faults")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=600, help="a run that takes longer counts as red")
    parser.add_argument("--only", default="", help="only faults in lines that hold this text")
    parser.add_argument("--list", action="store_true", help="show the faults and run nothing")
    args = parser.parse_args(argv)
    page = args.page.resolve()
    faults, n_all = chosen(page, 10**9 if args.only else args.n, args.seed)
    faults = [f for f in faults if args.only in f.before][: args.n]
    tests = tests_of(module_of(page))
    print(
        f"{page.name}: {len(faults)} of {n_all} faults; page and {', '.join(tests) or 'no test file'}",
        flush=True,
    )
    if args.list:
        print(*faults, sep="\n")
        return 0
    alive = killed = 0
    for fault in faults:
        if reason := EQUIVALENT.get((page.stem, fault.name)):
            print(f"EQUIVALENT ({reason}): {fault}", flush=True)
    open_faults = [f for f in faults if (page.stem, f.name) not in EQUIVALENT]
    for fault, red in run(page, open_faults, tests, args.jobs, args.seconds):
        killed, alive = killed + bool(red), alive + (not red)
        print(f"{f'killed by {red}' if red else 'ALIVE'}: {fault}", flush=True)
    print(f"{page.stem}: {killed} killed, {alive} alive, {len(faults) - len(open_faults)} equivalent")
    return min(alive, 99)


if __name__ == "__main__":
    sys.exit(main())
