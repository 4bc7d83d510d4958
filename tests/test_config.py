"""Settings: what is refused, what reaches whom, and that no two calls share anything."""

import asyncio
import dataclasses
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_dojo_scoring import config
from llm_dojo_scoring.config import (
    FieldScoringSettings,
    Settings,
    configure,
    get_settings,
    load_settings,
    settings,
)

SHARES = [
    "bipartite_match_threshold",
    "embedding_rescue_below",
    "presence_embedding_threshold",
    "verification_token_coverage",
]


@pytest.fixture(autouse=True)
def pristine(monkeypatch):
    monkeypatch.delenv("LLM_DOJO_SCORING_CONFIG", raising=False)
    config.clear_settings_cache()
    yield
    config.clear_settings_cache()


@pytest.fixture
def written(tmp_path):
    def write(text):
        file = tmp_path / "dojo.yaml"
        file.write_text(text, encoding="utf-8")
        return file

    return write


@pytest.mark.parametrize("name", SHARES)
@given(value=st.floats() | st.integers() | st.booleans() | st.none() | st.text(max_size=5))
def test_a_share_is_in_range_or_refused(name, value):
    fs = FieldScoringSettings()
    before = getattr(fs, name)
    try:
        setattr(fs, name, value)
    except ValueError:
        assert getattr(fs, name) == before
    else:
        assert 0 <= getattr(fs, name) <= 1 and not isinstance(value, bool)


@given(st.tuples(st.floats(-1, 2), st.floats(-1, 2)))
def test_a_band_runs_from_low_to_high(band):
    good = 0 <= band[0] <= band[1] <= 1
    try:
        fs = FieldScoringSettings(ambiguous_band=band)
    except ValueError:
        assert not good
    else:
        assert good and fs.ambiguous_band == band


@pytest.mark.parametrize(
    "text, value", [("false", False), ("off", False), ("no", False), ("TRUE", True), ("on", True)]
)
def test_words_for_true_and_false(written, text, value):
    for spelled in (text, f'"{text}"'):
        loaded = load_settings(written(f"field_scoring: {{embedding_enabled: {spelled}}}"))
        assert loaded.field_scoring.embedding_enabled is value


@given(st.dictionaries(st.text(max_size=12), st.none() | st.integers() | st.text(max_size=5), max_size=3))
def test_any_table_is_settings_or_one_line(table):
    for given_ in (
        table,
        {"field_scoring": table},
        {"cost_models": table},
        {"field_scoring": {"factuality_verification": table}},
    ):
        try:
            assert isinstance(config.settings_from_table(given_, "here"), Settings)
        except ValueError as e:
            assert str(e).startswith("here: ")


@pytest.mark.parametrize("name", [f.name for f in dataclasses.fields(Settings)])
@pytest.mark.parametrize(
    "value", [0, 7, "text", ["text"], [0], {"a": 0}, {"a": None}, [[0]], True, 0.5, [None]]
)
def test_every_key_takes_every_kind_of_value_or_says_no(name, value):
    try:
        config.settings_from_table({name: value}, "here")
    except ValueError as e:
        assert str(e).startswith("here: ") and "\n" not in str(e)


def test_defaults_are_nobody_s(written):
    for change in (
        lambda s: s.subtype_aliases.clear(),
        lambda s: s.contract_subtypes[0].clear(),
        lambda s: s.cost_models.clear(),
        lambda s: s.per_subtype.clear(),
        lambda s: s.subtype_equivalences.clear(),
        lambda s: s.field_scoring.partial_gt_fields.clear(),
    ):
        change(Settings())
        change(load_settings())
        change(load_settings(written("{}")))
    assert Settings() == get_settings() == load_settings()


def test_the_environment_names_a_file(written, monkeypatch):
    monkeypatch.setenv(
        "LLM_DOJO_SCORING_CONFIG", str(written("field_scoring: {bipartite_match_threshold: 0.7}"))
    )
    assert get_settings().field_scoring.bipartite_match_threshold == 0.7
    written("field_scoring: {bipartite_match_threshold: 0.8}")
    assert (
        get_settings().field_scoring.bipartite_match_threshold == 0.7
    )  # the process's settings are built once
    assert load_settings().field_scoring.bipartite_match_threshold == 0.8  # a load is always fresh
    config.clear_settings_cache()
    assert get_settings().field_scoring.bipartite_match_threshold == 0.8


@pytest.mark.parametrize("path", ["/no/such/file.yaml", "."])
def test_a_file_that_is_not_there_is_an_error(monkeypatch, path):
    with pytest.raises(FileNotFoundError, match="no settings file"):
        load_settings(path)
    monkeypatch.setenv("LLM_DOJO_SCORING_CONFIG", path)
    with pytest.raises(FileNotFoundError):
        get_settings()
    monkeypatch.setenv("LLM_DOJO_SCORING_CONFIG", "  ")
    assert get_settings() == Settings()


@pytest.mark.parametrize(
    "name",
    [
        "bipartite_match_threshold",
        "field_scoring__nonsense",
        "nonsense",
        "nonsense__x",
        "per_subtype__x",
        "field_scoring__x__y",
    ],
)
def test_a_name_that_is_no_setting(name):
    with pytest.raises(AttributeError):
        configure(**{name: 0.5})
    with pytest.raises(ValueError), settings(**{name: 0.5}):
        raise AssertionError("entered")
    assert get_settings() == Settings()


def test_a_bad_call_changes_nothing():
    with pytest.raises(ValueError):
        configure(
            field_scoring__embedding_enabled=True, per_subtype=["a"], field_scoring__ambiguous_band=(1, 0)
        )
    assert get_settings() == Settings()


def test_configure_keeps_the_object_that_others_hold():
    held = get_settings()
    fields = held.field_scoring
    assert configure(field_scoring__ambiguous_band=(0.4, 0.9), per_subtype=["license"]) is held
    assert get_settings() is held and held.field_scoring is fields
    assert fields.ambiguous_band == (0.4, 0.9) and held.per_subtype == ["license"]


def test_a_block_is_seen_by_its_own_thread_and_task_only():
    seen = {}

    def look():
        seen["thread"] = get_settings().field_scoring.bipartite_match_threshold

    async def task(value):
        with settings(field_scoring__bipartite_match_threshold=value):
            await asyncio.sleep(0)
            return get_settings().field_scoring.bipartite_match_threshold

    async def both():
        return await asyncio.gather(task(0.1), task(0.9))

    with settings(field_scoring__bipartite_match_threshold=0.3):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert asyncio.run(both()) == [0.1, 0.9]
        assert get_settings().field_scoring.bipartite_match_threshold == 0.3
    assert seen["thread"] == 0.6 == get_settings().field_scoring.bipartite_match_threshold


def test_a_block_ends_when_it_raises():
    with pytest.raises(RuntimeError), settings(field_scoring__bipartite_match_threshold=0.3):
        raise RuntimeError
    assert get_settings().field_scoring.bipartite_match_threshold == 0.6


def test_equivalents_are_symmetric_and_not_transitive():
    s = Settings()
    for a in s.contract_subtype_keys:
        assert s.equivalent_subtypes(a, a)
        for b in s.contract_subtype_keys:
            assert s.equivalent_subtypes(a, b) == s.equivalent_subtypes(b, a)
    assert s.equivalent_subtypes("maintenance", "license") and s.equivalent_subtypes("license", "development")
    assert not s.equivalent_subtypes("maintenance", "development")
    assert s.equivalent_doc_subclasses("mixed_cash_stock", "bylaws") is False
