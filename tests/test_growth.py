"""The growth check itself: it passes what is linear and refuses what is square."""

import re

import pytest
from growth import assert_near_linear, repeated


def test_linear_work_passes():
    assert_near_linear(lambda text: [c for c in text if c == "b"], repeated("ab"), 4_000_000)


def test_square_work_is_refused():
    with pytest.raises(AssertionError, match="power"):
        assert_near_linear(lambda text: re.findall("a*b", text), repeated("a"), 10_000)
