"""The rules in plain Python, as one would first write them: the slow side of every ratio.

Nothing here is imported by the package. Scores follow the published formulas in their simplest reading; they
are not the package's scores (whose rules are richer), and only their cost is compared.
"""

from __future__ import annotations

import datetime
import difflib
import random
import re
from collections import Counter

# ---- intervals


def bootstrap_ci(values, n_boot=2000, alpha=0.05, seed=42):
    "Percentile bootstrap of a mean, one draw at a time."
    rng, n = random.Random(seed), len(values)
    means = sorted(sum(values[rng.randrange(n)] for _ in range(n)) / n for _ in range(n_boot))
    lo = means[max(0, round(alpha / 2 * n_boot) - 1)]
    hi = means[min(n_boot - 1, round((1 - alpha / 2) * n_boot) - 1)]
    return {"lo": round(lo, 4), "hi": round(hi, 4)}


def delta_significance(values_a, values_b, n_boot=2000, alpha=0.05, seed=42):
    "Two-sample percentile bootstrap: B is drawn first, then A."
    rng, n_a, n_b = random.Random(seed), len(values_a), len(values_b)
    deltas = []
    for _ in range(n_boot):
        mean_b = sum(values_b[rng.randrange(n_b)] for _ in range(n_b)) / n_b
        mean_a = sum(values_a[rng.randrange(n_a)] for _ in range(n_a)) / n_a
        deltas.append(mean_b - mean_a)
    deltas.sort()
    lo = deltas[max(0, round(alpha / 2 * n_boot) - 1)]
    hi = deltas[min(n_boot - 1, round((1 - alpha / 2) * n_boot) - 1)]
    return {"ci_lo": round(lo, 4), "ci_hi": round(hi, 4)}


def paired_delta(deltas, n_boot=2000, seed=42):
    "Bootstrap of a mean of differences, and the share of resamples above 0."
    rng, n = random.Random(seed), len(deltas)
    means = [sum(deltas[rng.randrange(n)] for _ in range(n)) / n for _ in range(n_boot)]
    return {"p_win_strict": sum(m > 0 for m in means) / n_boot}


def committees(docs, k_list, n_sim=400, seed=42):
    "Accuracy of majorities of k draws, one committee at a time."
    rng, curve = random.Random(seed), []
    for k in k_list:
        right = 0.0
        for doc in docs.values():
            labels, counts = list(doc["observations"]), list(doc["observations"].values())
            for _ in range(n_sim):
                votes = Counter(rng.choices(labels, counts, k=k))
                most = max(votes.values())
                right += rng.choice([v for v, n in votes.items() if n == most]) == doc["expected"]
        curve.append(right / n_sim / len(docs))
    return curve


# ---- text

_PUNCTUATION = re.compile(r"[,.;:'\"()\[\]{}!?@#$%^&*+=|\\/<>~`_-]")
_SUFFIXES = frozenset(
    "INC INCORPORATED LLC LTD LIMITED CORP CORPORATION CO COMPANY PLC LLP LP GROUP HOLDINGS TRUST".split()
)
_STOPWORDS = frozenset(
    "the a an of and or for to in on by as is be are with its their his her such hereof hereunder shall any "
    "all this that these those from between into upon under over".split()
)


def tokens(text):
    return _PUNCTUATION.sub(" ", str(text or "").lower()).split()


def content_tokens(text):
    return set(tokens(text)) - _STOPWORDS


def normalize(text):
    return " ".join(t for t in _PUNCTUATION.sub(" ", str(text or "").upper()).split() if t not in _SUFFIXES)


def sequence_ratio(a, b):
    if not a and not b:
        return 1.0
    return difflib.SequenceMatcher(None, a, b).ratio() if a and b else 0.0


def token_set_ratio(a, b):
    left, right = set(tokens(a)), set(tokens(b))
    if not left or not right:
        return float(not left and not right)
    if left == right:
        return 1.0
    shared = " ".join(sorted(left & right))
    return max(
        sequence_ratio(shared, " ".join(sorted(left))),
        sequence_ratio(" ".join(sorted(left - right)), " ".join(sorted(right - left))),
    )


def token_f1(a, b):
    left, right = Counter(tokens(a)), Counter(tokens(b))
    if not right:
        return float(not left)
    shared = sum((left & right).values())
    if not shared:
        return 0.0
    precision, recall = shared / sum(left.values()), shared / sum(right.values())
    return 2 * precision * recall / (precision + recall)


def jaro_winkler(a, b):
    "Jaro similarity with the prefix bonus above 0.7."
    if a == b:
        return 1.0
    if not a or not b:
        return 0.0
    reach = max(0, max(len(a), len(b)) // 2 - 1)
    used_b, matched_a = [False] * len(b), []
    for i, c in enumerate(a):
        for j in range(max(0, i - reach), min(len(b), i + reach + 1)):
            if not used_b[j] and b[j] == c:
                used_b[j] = True
                matched_a.append(c)
                break
    m = len(matched_a)
    if not m:
        return 0.0
    swapped = (
        sum(x != y for x, y in zip(matched_a, (c for c, u in zip(b, used_b, strict=True) if u), strict=True))
        / 2
    )
    jaro = (m / len(a) + m / len(b) + (m - swapped) / m) / 3
    prefix = 0
    for x, y in zip(a[:4], b[:4], strict=False):
        if x != y:
            break
        prefix += 1
    return jaro + 0.1 * prefix * (1 - jaro) if jaro > 0.7 else jaro


# ---- fields

_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"


def score_id(predicted, expected):
    return float(normalize(predicted) == normalize(expected))


def score_name(predicted, expected):
    left, right = normalize(predicted), normalize(expected)
    if not left or not right:
        return float(not left and not right)
    left_tokens, right_tokens = set(left.split()), set(right.split())
    if right_tokens <= left_tokens:
        return 1.0
    base = token_set_ratio(left, right)
    return max(base, jaro_winkler(left, right)) if left_tokens & right_tokens else base


def score_free_text(predicted, expected):
    return token_f1(predicted, expected)


def score_containment(predicted, expected):
    left, right = content_tokens(predicted), content_tokens(expected)
    if not right:
        return float(not left)
    return round(len(left & right) / len(right), 4) if left else 0.0


_SCALES = {"K": 1e3, "M": 1e6, "B": 1e9}


def parse_money(value):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    text = re.sub(r"[,$€£]|USD|DOLLARS|EUROS", "", str(value or "").upper()).strip()
    scale = _SCALES.get(text[-1:], 1.0)
    try:
        return float(text.rstrip("KMB")) * scale
    except ValueError:
        return None


def score_money(predicted, expected):
    left, right = parse_money(predicted), parse_money(expected)
    if left is None or right is None:
        return score_name(predicted, expected)
    return float(abs(left - right) <= 0.01)


def parse_date(value):
    from dateutil import parser

    if not isinstance(value, str) or not value.strip():
        return None
    text = re.sub(r"(\d{1,2})\s*(st|nd|rd|th)\b", r"\1", value).replace(" day of ", " ")
    try:
        return parser.parse(text.strip(" ([{,."), default=datetime.datetime(2000, 1, 1), fuzzy=False).date()
    except (ValueError, OverflowError):
        return None


def words(text):
    return re.findall(r"[a-z0-9]+", str(text or "").lower())


def holds(whole, part):
    "Is the part a run of words of the whole?"
    n = len(part)
    return bool(n) and any(whole[i : i + n] == part for i in range(len(whole) - n + 1))


def states_date(text, other, date):
    "Does the text hold the other side's phrase, or its date written another way?"
    ways = [other] if len(words(other)) >= 3 else []
    if date is not None:
        ways += [date.isoformat(), date.strftime("%B %d %Y"), date.strftime("%d %B %Y")]
    return any(holds(words(text), words(way)) for way in ways)


def is_null_date(expected):
    text = str(expected or "")
    if "_" in text or "blank" in words(text):
        return True
    return not re.search(_MONTHS, text, re.I) and not re.search(r"(19|20)\d\d", text)


def score_date(predicted, expected):
    if parse_date(expected) is None and is_null_date(expected):
        return float(not str(predicted or "").strip())
    left, right = parse_date(predicted), parse_date(expected)
    if left is not None and left == right:
        return 1.0
    if states_date(predicted, expected, right) or states_date(expected, predicted, left):
        return 1.0
    if left is None or right is None:
        return score_name(predicted, expected)
    if (left.year, left.month) == (right.year, right.month) or abs((left - right).days) <= 45:
        return 0.67
    return 0.33 if left.year == right.year else 0.0


SCORERS = {
    "id": score_id,
    "date": score_date,
    "money": score_money,
    "name": score_name,
    "free_text": score_free_text,
    "containment": score_containment,
}


# ---- lists

ROLES = frozenset(
    "shipper sponsor seller buyer company producer reseller licensee licensor party parties owner "
    "transporter customer client vendor purchaser lender borrower guarantor distributor operator".split()
)


def similarity(element_type, item, label, enough=0.7):
    "The scorer's value; for clauses, the share of the label's words that the item holds where it is larger."
    score = SCORERS[element_type](item, label)
    if element_type != "free_text":
        return score
    wanted = set(tokens(label))
    covered = len(wanted & set(tokens(item))) / len(wanted) if wanted else 0.0
    return max(score, covered if covered >= enough else 0.0)


def score_list(element_type, predicted, expected, partial=False, threshold=0.6):
    "Similarity matrix pair by pair, then the assignment."
    from scipy.optimize import linear_sum_assignment

    predicted, expected = [str(p) for p in predicted or []], [str(e) for e in expected or []]
    known = 0
    if partial:
        roles = [e for e in expected if len(words(e)) <= 3 and set(words(e)) <= ROLES]
        inside = [
            e
            for e in expected
            if 3 <= len(words(e)) <= 6 and any(holds(words(p), words(e)) for p in predicted)
        ]
        expected = [e for e in expected if e not in roles and e not in inside]
        known = len(inside) + (len(roles) if any(not set(words(p)) <= ROLES for p in predicted) else 0)
    if not expected and known:
        return {"score": 1.0, "matched": known}
    if not predicted or not expected:
        return {"score": float(not predicted and not expected), "matched": 0}
    matrix = [[similarity(element_type, p, e) for e in expected] for p in predicted]
    rows, columns = linear_sum_assignment(matrix, maximize=True)
    matched = sum(matrix[i][j] >= threshold for i, j in zip(rows, columns, strict=True))
    matched, n_expected = matched + known, len(expected) + known
    precision, recall = matched / len(predicted), matched / n_expected
    f1 = 2 * precision * recall / (precision + recall) if matched else 0.0
    return {"score": recall if partial else f1, "matched": matched}


# ---- the audit against the document

_DATES = re.compile(
    rf"\b(?:{_MONTHS})\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+day\s+of\s+(?:{_MONTHS}),?\s+\d{{4}}"
    r"|\b\d{1,2}/\d{1,2}/\d{2,4}|\b\d{4}-\d{2}-\d{2}",
    re.I,
)


def document_dates(document):
    return {parse_date(found.group()) for found in _DATES.finditer(document)} - {None}


def grounded_items(items, document, coverage=0.7):
    words = content_tokens(document)  # once per field, as one would write it first
    verdicts = []
    for item in items:
        wanted = content_tokens(item)
        verdicts.append(bool(wanted) and len(wanted & words) / len(wanted) >= coverage)
    return verdicts


def audit_list(element_type, predicted, expected, document, threshold=0.6):
    predicted, expected = [str(p) for p in predicted or []], [str(e) for e in expected or []]
    matched = [any(similarity(element_type, p, e) >= threshold for e in expected) for p in predicted]
    grounded = grounded_items(predicted, document)
    return {
        "n_predicted": len(predicted),
        "true_items": sum(m or g for m, g in zip(matched, grounded, strict=True)),
    }


def audit_scalar(field_type, predicted, expected, document, threshold=0.6):
    matched = expected not in (None, "") and SCORERS[field_type](predicted, expected) >= threshold
    grounded = field_type == "date" and parse_date(predicted) in document_dates(document)
    grounded = grounded or grounded_items([predicted], document)[0]
    return {"n_predicted": 1, "true_items": int(matched or grounded)}


# ---- a row

PARTIAL = {"parties", "key_obligations", "termination_clauses"}
CONTAINMENT = {"governing_law", "term_length", "renewal_terms"}


def _score_field(name, kind, predicted, expected):
    if kind.startswith("entity_list"):
        element = kind.partition(":")[2] or "name"
        items = predicted if isinstance(predicted, list) else [predicted]
        labels = expected if isinstance(expected, list) else [expected]
        return score_list(element, items, labels, partial=name in PARTIAL)["score"]
    if name in CONTAINMENT and kind in ("name", "free_text", "containment"):
        kind = "containment"
    return SCORERS.get(kind, score_name)(predicted, expected)


def score_extraction(field_types, predicted, expected, document=None):
    "Field scores, their mean, and the audit of what the model returned."
    scores, audits = {}, {}
    for name, label in expected.items():
        if label not in (None, "", [], {}):
            value = predicted.get(name)
            scores[name] = (
                0.0
                if value is None
                else round(_score_field(name, field_types.get(name, "name"), value, label), 4)
            )
    for name, kind in sorted(field_types.items()) if document else ():
        value, label = predicted.get(name), expected.get(name)
        if value in (None, "", []):
            continue
        if kind.startswith("entity_list"):
            items = value if isinstance(value, list) else [value]
            labels = label if isinstance(label, list) else [label] if label else []
            audits[name] = audit_list(kind.partition(":")[2] or "name", items, labels, document)
        else:
            audits[name] = audit_scalar(kind if kind in SCORERS else "name", value, label, document)
    overall = round(sum(scores.values()) / len(scores), 4) if scores else None
    return {"overall_score": overall, "field_scores": scores, "audits": audits}


# ---- clause questions


def jaccard(gt, pred):
    one, two = (set(re.sub(r"[.,;:]", "", t).lower().replace("/", " ").split(" ")) for t in (gt, pred))
    return len(one & two) / len(one | two)


def said_no_related(output):
    return "no related clause" in output.lower().strip(" \n`")


def classified(spans, output):
    return all(span.strip(" \n`") in output.strip(" \n`") for span in spans)


def contracteval_metrics(spans, outputs, categories):
    "The rubric as its script has it: a pass per number, and all of them again for each category."
    pairs = list(zip(spans, outputs, strict=True))
    tp = sum(bool(s) and classified(s, o) for s, o in pairs)
    fn = sum(bool(s) and not classified(s, o) for s, o in pairs)
    tn = sum(not s and said_no_related(o) for s, o in pairs)
    shared = [jaccard(" ".join(s), o.strip(" \n`")) for s, o in pairs if s]
    found = {
        "f1": round(2 * tp / (2 * tp + fn + len(pairs) - tp - fn - tn), 4) if tp else 0.0,
        "jaccard_mean": round(sum(shared) / len(shared), 4) if shared else 0.0,
        "jaccard_median": sorted(shared)[len(shared) // 2] if shared else 0.0,
        "no_related_rate": sum(said_no_related(o) for _, o in pairs) / len(pairs),
        "false_no_related": sum(bool(s) and said_no_related(o) for s, o in pairs),
    }
    if categories:
        groups: dict = {}
        for pair, category in zip(pairs, categories, strict=True):
            groups.setdefault(category, []).append(pair)
        found["per_category"] = {
            c: contracteval_metrics(*zip(*own, strict=True), None) for c, own in groups.items()
        }
    return found


_ONES = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty"
)
_NUMBERS = {word: i for i, word in enumerate(_ONES.split(), 1)}
_NUMBERS |= dict(
    zip("thirty forty fifty sixty seventy eighty ninety".split(), range(30, 100, 10), strict=True)
)
_UNITS = {"year": 365, "month": 30, "week": 7, "day": 1}
_LENGTH = re.compile(r"([a-z-]+|\d+)\s*(?:\(\s*(\d+)\s*\))?\s*(year|month|week|day)s?\b")


def parse_duration(text):
    "Days of the last length in a text."
    if not isinstance(text, str):
        return None
    text = re.sub(r"[,.]", " ", text).lower()
    if re.search(r"\ban?nual", text):
        return 365
    found = [
        int(d) * _UNITS[u] if d else int(w) * _UNITS[u] if w.isdigit() else _NUMBERS[w] * _UNITS[u]
        for w, d, u in _LENGTH.findall(text)
        if d or w.isdigit() or w in _NUMBERS
    ]
    return found[-1] if found else None


_OF_FIELD = {"effective_date": ("Agreement Date", "Effective Date"), "term_length": ("Expiration Date",)}
_OF_FIELD["renewal_terms"] = ("Renewal Term", "Notice Period To Terminate Renewal")


def expected_text(master, filename, field, fallback):
    "The curated answer, else the clause."
    key = re.sub(r"[^a-z0-9]", "", re.sub(r"\.pdf$", "", str(filename).lower()))
    for category in _OF_FIELD.get(field, ()):
        answer = master.get(key, {}).get(f"{category}-Answer")
        if answer:
            return answer
    return fallback


def _mean(values):
    return round(sum(values) / len(values), 4) if values else None


def _errors(pairs):
    "Mean and median absolute error, and R², of pairs."
    off = sorted(abs(p - e) for p, e in pairs)
    middle = len(off) // 2
    mean = sum(e for _, e in pairs) / len(pairs)
    total = sum((e - mean) ** 2 for _, e in pairs)
    return {
        "mae": _mean(off),
        "median": (off[middle] + off[~middle]) / 2,
        "r2": round(1 - sum((p - e) ** 2 for p, e in pairs) / total, 4) if total else None,
    }


def _rates(column):
    return {
        "exact_rate": _mean([s >= 1 for s in column]),
        "partial_rate": _mean([0 < s < 1 for s in column]),
        "miss_rate": _mean([s <= 0 for s in column]),
    }


def _list_figures(lists):
    "Means over documents, sums over items, and drift."
    every = [s for column in lists.values() for s in column]
    matched, given, wanted = (sum(s[n] for s in every) for n in ("matched", "n_predicted", "n_expected"))
    drift = {f: [s["n_predicted"] - s["n_expected"] for s in c] for f, c in lists.items()}
    return {
        "macro": {
            n: {f: _mean([s[n] for s in c]) for f, c in lists.items()} for n in ("precision", "recall", "f1")
        },
        "micro": (matched / given, matched / wanted, 2 * matched / (given + wanted))
        if given and wanted
        else None,
        "drift_mae": {f: _mean([abs(d) for d in c]) for f, c in drift.items()},
        "drift_signed": {f: _mean(c) for f, c in drift.items()},
        "drift_total": _mean([abs(d) for c in drift.values() for d in c]),
    }


def _value_pair(row, field, master):
    "Kind and numbers of a field's two sides."
    value = (row.get("predicted") or {}).get(field)
    if not value or not str(value).strip():
        return None
    fallback = str((row.get("expected_fields") or {}).get(field) or "")
    truth = expected_text(master, row["filename"], field, fallback)
    if field != "effective_date":
        days = parse_duration(value), parse_duration(truth)
        if None not in days:
            return "duration", days
    dates = parse_date(value), parse_date(truth)
    return None if None in dates else ("date", tuple(d.toordinal() for d in dates))


def diagnostics(rows, field_types, master):
    "The diagnostics of a run, figure by figure."
    scores, lists, pairs = {}, {}, {}
    for row in rows:
        for field, score in (row.get("field_scores") or {}).items():
            scores.setdefault(field, []).append(score)
        for field, score in (row.get("entity_list_scores") or {}).items():
            lists.setdefault(field, []).append(score)
        for field in ("effective_date", "term_length", "renewal_terms"):
            pair = _value_pair(row, field, master)
            if pair:
                pairs.setdefault((pair[0], field), []).append(pair[1])
    by_kind = {k: [p for (kind, _), c in pairs.items() if kind == k for p in c] for k in ("date", "duration")}
    return {
        "n_fields_scored": sum(map(len, scores.values())),
        "all": _rates([s for column in scores.values() for s in column]),
        "error_decomposition": {f: _rates(c) for f, c in scores.items()},
        "field_presence_per_field": {
            f: _mean([(row.get("predicted") or {}).get(f) not in (None, "", []) for row in rows])
            for f in field_types
        },
        "lists": _list_figures(lists),
        "errors": {key: _errors(c) for key, c in [*pairs.items(), *by_kind.items()] if c},
    }
