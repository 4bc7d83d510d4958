"""The append-only log under kill signals, full disks and odd content: nothing is lost, nothing is glued."""

import errno
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring import jsonl_log
from llm_dojo_scoring.experiment import append_experiment, load_records, read_experiments, record_date
from llm_dojo_scoring.jsonl_log import Damaged, append_records, json_line, read_log, scan_log

# Forks eight writers on one log and kills one at random, each time some records
# further, at a random moment.
# A writer notes the name of a record only after the call has returned: that is the acknowledgement.
HERD = """
import os, random, signal, sys, time
from llm_dojo_scoring.experiment import append_experiment
from llm_dojo_scoring.jsonl_log import append_records
log, folder, wanted = sys.argv[1], sys.argv[2], int(sys.argv[3])
dice, kills, generation, running = random.Random(8), 0, 0, {}

def write(slot, generation):
    fd = os.open(f"{folder}/{slot}.ack", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    n = 0
    while True:
        name = f"w{slot}g{generation}-{n}"
        size = (100, 20_000, 2_000_000)[n % 3 if slot % 2 else 0]
        record = {"record_id": name, "timestamp": "2026-08-15T00:00:00Z", "text": "x" * size, "end": n}
        append_experiment(record, log) if slot % 4 == 0 else append_records(log, [record], fsync=False)
        os.write(fd, (name + "\\n").encode())
        n += 1

def start(slot):
    pid = os.fork()
    if pid == 0:
        write(slot, generation)
    running[slot] = pid

def noted():
    return sum(os.path.getsize(f"{folder}/{n}") for n in os.listdir(folder) if n.endswith(".ack"))

limit = time.monotonic() + 1000  # then the writers are ended, too: see `finally`
try:
    for slot in range(8):
        start(slot)
    while kills < wanted:
        before = noted()
        while noted() < before + 50:  # a few names: however slow the disk is, every life writes something
            time.sleep(0.001)
            if time.monotonic() > limit:
                sys.exit("the writers write nothing any more")
        time.sleep(dice.uniform(0.001, 0.05))
        slot = dice.randrange(8)
        os.kill(running[slot], signal.SIGKILL)
        os.waitpid(running[slot], 0)
        kills, generation = kills + 1, generation + 1
        start(slot)
finally:
    for pid in running.values():
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
print(kills)
"""


def test_eight_writers_under_random_kills_lose_nothing(tmp_path):
    "Every acknowledged record is there, once and whole; a torn one stays alone."
    log = tmp_path / "log.jsonl"
    herd = [sys.executable, "-c", HERD, str(log), str(tmp_path), "120"]
    kills = int(subprocess.run(herd, check=True, capture_output=True, text=True, timeout=1200).stdout)
    acknowledged = {
        line
        for file in tmp_path.glob("*.ack")
        for line in file.read_text().split("\n")[:-1]  # a kill can cut the last one off
    }
    append_records(log, [{"record_id": "after-0", "end": 0}])
    damaged, names = [], []
    for found in scan_log(log):
        if isinstance(found, Damaged):
            damaged.append(found)
        else:
            names.append(found["record_id"])
            assert found["end"] == int(names[-1].split("-")[1])
    lost = acknowledged - set(names)
    glued = sum(line.count(b'"record_id"') > 1 for line in log.open("rb"))
    print(
        f"{kills} kills, {len(acknowledged)} acknowledged, {len(lost)} lost, {glued} glued,"
        f" {len(damaged)} torn"
    )
    assert kills == 120 and len(acknowledged) > 5 * kills
    assert not lost and not glued
    assert len(names) == len(set(names))
    assert all(d.why == "not JSON" and d.start.startswith("{") for d in damaged)


def test_a_full_disk_leaves_the_log_as_it_was(tmp_path, monkeypatch):
    log = tmp_path / "log.jsonl"
    append_records(log, [{"a": 1}])
    before, real = log.read_bytes(), os.write

    def some(fd, data):
        if len(data) > 5:
            return real(fd, bytes(data[:5]))
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as m:
        m.setattr(jsonl_log.os, "write", some)
        with pytest.raises(OSError, match="No space"):
            append_records(log, [{"a": 222_222_222}])
    assert log.read_bytes() == before
    append_records(log, [{"a": 3}])
    assert [r["a"] for r in load_records(log)] == [1, 3]


def test_short_writes_are_finished(tmp_path, monkeypatch):
    log, real = tmp_path / "log.jsonl", os.write
    monkeypatch.setattr(jsonl_log.os, "write", lambda fd, data: real(fd, bytes(data[:7])))
    append_records(log, [{"text": "y" * 100}, {"b": 2}])
    assert [*read_log(log).records] == [{"text": "y" * 100}, {"b": 2}]


def test_a_log_replaced_while_waiting_is_written_anew(tmp_path, monkeypatch):
    import fcntl

    log, real, turned = tmp_path / "log.jsonl", fcntl.flock, []
    append_records(log, [{"a": 1}])

    def slow(fd, how):
        real(fd, how)
        if not turned:
            turned.append(log.rename(tmp_path / "old.jsonl"))

    monkeypatch.setattr(fcntl, "flock", slow)
    append_records(log, [{"a": 2}])
    assert read_log(log).records == [{"a": 2}]
    assert read_log(tmp_path / "old.jsonl").records == [{"a": 1}]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def without_nan(value):
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {k: without_nan(v) for k, v in value.items()}
    return [without_nan(v) for v in value] if isinstance(value, list) else value


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_a_record_comes_back_as_it_was(record):
    line = json_line(record)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert json.loads(line) == without_nan(record)


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=4))
def test_records_are_written_as_their_lines(tmp_path_factory, records):
    log = tmp_path_factory.mktemp("log") / "log.jsonl"
    append_records(log, records, fsync=False)
    assert log.read_bytes() == b"".join(map(json_line, records))


@pytest.mark.parametrize(
    "record",
    [{"a": {5: 1}}, {"a": "\ud800"}, {"a": 10**30}, {5: 1}, {"a": "},{"}, {"a": [{}, {}]}, {"a": {1, 2}}],
)
def test_an_odd_record_is_one_line_and_not_none(tmp_path, record):
    log = tmp_path / "log.jsonl"
    for several in ([record], [record, {"b": 2}], [{"b": 2}, record]):
        log.unlink(missing_ok=True)
        append_records(log, several)
        assert log.read_bytes() == b"".join(map(json_line, several)) and len(read_log(log).records) == len(
            several
        )
    log.unlink()
    append_experiment(record, log)
    assert len(load_records(log)) == 1


@given(st.binary(max_size=60), st.integers(0, 9))
def test_whatever_stands_in_the_file_a_new_record_is_readable(tmp_path_factory, junk, n):
    log = tmp_path_factory.mktemp("log") / "log.jsonl"
    log.write_bytes(junk)
    before = sum(isinstance(r, dict) for r in scan_log(log))
    append_records(log, [{"n": n}], fsync=False)
    got = [r for r in scan_log(log) if isinstance(r, dict)]
    assert len(got) == before + 1 and got[-1] == {"n": n}


def test_a_torn_tail_of_every_length_stays_alone(tmp_path):
    log, whole = tmp_path / "log.jsonl", json_line({"a": "Æ", "b": [1, 2]})
    for cut in range(len(whole) - 1):
        log.write_bytes(json_line({"first": 1}) + whole[:cut])
        append_experiment({"last": 1}, log)
        found = read_experiments(log)
        assert [*found.records[0], "last" in found.records[-1]] == ["first", True], cut
        assert len(found.damaged) == (cut > 0), cut
        if cut:
            assert found.damaged[0].offset == len(json_line({"first": 1}))


def test_strict_names_line_and_byte(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"a": 1}\n{"half":\n{"b": 2}\n')
    with pytest.raises(ValueError, match=r"log.jsonl:2: .*byte 9"):
        load_records(log, strict=True)
    with pytest.warns(UserWarning, match="byte 9"):
        assert load_records(log) == [{"a": 1}, {"b": 2}]
    with pytest.raises(FileNotFoundError):
        load_records(tmp_path / "none.jsonl")


def test_the_log_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("EXPERIMENT_LOG_PATH", str(tmp_path / "deep" / "log.jsonl"))
    record = {"a": {1, 2}, "timestamp": "2026-01-01T00:00:00Z"}
    path = append_experiment(record)
    assert path == tmp_path / "deep" / "log.jsonl"
    (line,) = path.read_text().splitlines()
    assert json.loads(line)["schema_version"] == 1 and json.loads(line)["a"] == [1, 2]
    assert record_date(json.loads(line)).isoformat() == "2026-01-01T00:00:00"
