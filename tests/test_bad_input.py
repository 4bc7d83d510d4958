"""A broken file is refused in one line: the file, the line, what is wrong, and what to do about it.

One row a file. Whoever adds a kind of input adds its rows here; the tests below hold for all of them.
"""

import gzip

import pytest

from llm_dojo_scoring import config, master_labels, taxonomy

READERS = {
    "master": (master_labels.read_master_csv, "master_clauses.csv"),
    "answers": (master_labels.load_master_labels, "master_clauses.csv"),
    "taxonomy": (taxonomy.load_taxonomy, "taxonomy.yaml"),
    "settings": (config.load_settings, "dojo.yaml"),
}
MASTER = b"Filename,Parties,Parties-Answer\na.pdf,['Acme Inc.'],Acme\n"
NOT_A_FILE = "no such file"

ROWS = [  # reader, contents, line (None: the file as a whole), what is wrong, what to do
    ("master", NOT_A_FILE, None, "no table of labels at", "correct the path"),
    ("master", b"", 1, "expected a header", "the file is empty"),
    ("master", b"\n\n  \n", 1, "expected a header", "the file is empty"),
    ("master", MASTER.split(b"\n")[0], 2, "expected a row per contract", "a header only"),
    ("master", b"a.pdf,['Acme Inc.'],Acme\n", 1, "expected one column Filename", "name the column"),
    ("master", MASTER.replace(b",", b";"), 1, "expected one column Filename", "separate by commas"),
    ("master", MASTER.replace(b",", b"\t"), 1, "expected one column Filename", "separate by commas"),
    ("master", MASTER.replace(b"Parties-", b"Parteis-"), 1, "expected a category", "did you mean 'Parties'?"),
    ("master", MASTER.replace(b"Parties-Answer", b"Parties"), 1, "each column once", "remove one"),
    ("master", MASTER + b"b.pdf,['Globex", 3, "expected 3 cells, got 2", "cut off"),
    ("master", MASTER + b"b.pdf,\"['Globex", 3, "expected whole quoted cells", "cut off"),
    ("master", MASTER + b"b.pdf,['Globex, LLC'],x,y\n", 3, "expected 3 cells, got 5", "quote the cell"),
    ("master", MASTER + b"b.pdf,['Globex,x\n", 3, "column 'Parties'", "write it so, or [] for none"),
    ("master", MASTER + b"b.pdf,Globex,x\n", 3, "column 'Parties'", "write it so, or [] for none"),
    ("master", MASTER + b"b.pdf,\"['a', ['b']]\",x\n", 3, "a list of texts", "write it so, or [] for none"),
    (
        "master",
        MASTER + b"b.pdf,[],\nA.PDF,[],\n",
        4,
        "each contract once, 'A.PDF' stands in line 2",
        "remove one",
    ),
    ("master", MASTER + b",[],\n", 3, "expected a file name", "name the contract"),
    ("master", MASTER + b"b.pdf,[],caf\xe9\n", 3, "expected UTF-8 text", "save the file as CSV UTF-8"),
    ("master", MASTER.decode().encode("utf-16"), 1, "expected UTF-8 text", "save the file as CSV UTF-8"),
    ("master", MASTER + b"b\x00.pdf,[],\n", 3, "NUL", "save the file as CSV UTF-8"),
    (
        "master",
        b"PK\x03\x04xl/worksheets",
        None,
        "expected comma-separated text",
        "save the sheet as CSV UTF-8",
    ),
    ("master", gzip.compress(MASTER)[:-4], None, "expected a whole gzip archive", "fetch it again"),
    ("answers", b"", 1, "expected a header", "the file is empty"),
    ("answers", MASTER + b"b.pdf,['Globex'\n", 3, "expected 3 cells, got 2", "cut off"),
    ("answers", MASTER.replace(b"Filename", b"File"), 1, "expected one column Filename", "name the column"),
    ("taxonomy", NOT_A_FILE, None, "no taxonomy file at", "correct the path"),
    ("taxonomy", b"doc_classes:\n- key: lease\n\tlabel: x", 3, "not YAML", "correct that line"),
    ("taxonomy", b"doc_classes:\n- key: caf\xe9", 2, "not UTF-8 text", "save the file as UTF-8"),
    ("taxonomy", b"doc_classes: []\nagents: {}\ndoc_classes: []", 3, "given twice", "remove one"),
    ("taxonomy", b"- key: lease", None, "a table of taxonomy is needed", "begin with `key: value`"),
    ("taxonomy", b"doc_clases: []", 1, "unknown block 'doc_clases'", "did you mean 'doc_classes'?"),
    (
        "taxonomy",
        b"doc_classes: {lease: {rent: money}}",
        1,
        "must be a list of classes",
        "begin each with `- key:`",
    ),
    ("taxonomy", b"doc_classes:\n- label: Lease", 2, "each class needs `key: name`", "add it"),
    (
        "taxonomy",
        b"doc_classes:\n- key: lease\n  field_types:\n    tenant: name\n    rent: amount",
        5,
        "unknown type 'amount' of field 'rent' in class 'lease'",
        "use one of id, date, money, name, free_text, containment, entity_list",
    ),
    (
        "taxonomy",
        b"doc_classes:\n- key: lease\n- key: lease",
        3,
        "class 'lease' is listed twice",
        "remove one",
    ),
    ("settings", NOT_A_FILE, None, "no settings file at", "correct the path"),
    ("settings", b"field_scoring:\n  ambiguous_band: [0.5", 2, "not YAML", "correct that line"),
    ("settings", b"\xff\xfef\x00", 1, "not UTF-8 text", "save the file as UTF-8"),
    (
        "settings",
        b"field_scoring:\n  treshold: 1",
        2,
        "unknown key field_scoring.treshold",
        "known: ambiguous_band",
    ),
    ("settings", b"field_scorng: {}", 1, "unknown key field_scorng", "known: field_scoring"),
    (
        "settings",
        b"field_scoring:\n  embedding_rescue_below: 70",
        2,
        "embedding_rescue_below",
        "less than or equal to 1, got 70",
    ),
    (
        "settings",
        b"cost_models:\n  a/b: [0.1, free]",
        1,
        "price of 'a/b'",
        "two finite numbers of at least 0, got [0.1, 'free']",
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[3]}"[:60])
def test_a_broken_file_is_refused_in_one_line(row, tmp_path):
    kind, contents, line, wrong, fix = row
    read, name = READERS[kind]
    path = tmp_path / name
    if contents is not NOT_A_FILE:
        path.write_bytes(contents)
    with pytest.raises(FileNotFoundError if contents is NOT_A_FILE else ValueError) as caught:
        read(path)
    said = str(caught.value)
    assert "\n" not in said and len(said) < 500
    assert (
        f"{path}:{line}: " in said
        if line
        else str(path) in said and f"{path}:" not in said.replace(f"{path}: ", "")
    )
    assert wrong in said and fix in said, said


@pytest.mark.parametrize("kind", ["master", "taxonomy", "settings"])
def test_the_same_file_repaired_is_read(kind, tmp_path):
    read, name = READERS[kind]
    path = tmp_path / name
    good = {
        "master": b"\xef\xbb\xbf" + MASTER.replace(b"\n", b"\r\n"),
        "taxonomy": b"doc_classes:\r\n- key: lease\r\n  field_types: {rent: money}\r\n",
        "settings": b"\xef\xbb\xbffield_scoring: {embedding_rescue_below: 0.7}\n",
    }[kind]
    path.write_bytes(good)
    assert read(path)
