"""Growth, not seconds: the processor time of a call on a text and on one four times as long."""

import gc
import math
import time

EXPONENT = 1.65  # 1 is linear, 2 is quadratic: the limit lies between, since machines are busy
TOO_LITTLE = 0.05  # seconds of processor time below which growth cannot be told
ATTEMPTS = 5  # a spike of the machine spoils one attempt; square growth spoils all


def assert_near_linear(call, text, n=100_000):
    "`call(text(n))` grows about as fast as `n`: an exponent under 1.65 once in five attempts on fresh texts."
    seen = []
    for attempt in range(ATTEMPTS):
        sizes = [size + size * attempt // 50 for size in (n // 4, n)]
        short, long = (seconds(call, text(size)) for size in sizes)
        if long < TOO_LITTLE:
            return
        seen.append(math.log(long / max(short, TOO_LITTLE / 10)) / math.log(4))
        if seen[-1] < EXPONENT:
            return
    raise AssertionError(f"processor time grows like n to the power {min(seen):.2f}")


def repeated(unit):
    "A maker of texts: `unit` again and again, about `n` characters of it."
    return lambda n: unit * max(1, n // len(unit))


def seconds(call, text):
    "Processor time of one call, without the garbage collector, which looks at what other tests left behind."
    gc.disable()
    try:
        start = time.process_time()
        call(text)
        return time.process_time() - start
    finally:
        gc.enable()
