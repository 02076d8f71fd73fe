"""What the check says, and how it waits and fails."""

import time

_began = time.monotonic()


class Failed(Exception):
    """Something is not as it has to be; the text says what."""


def say(text):
    """One line, after the seconds since the start."""
    print(f"{time.monotonic() - _began:4.0f} s  {text}", flush=True)


def within(seconds, what, holds):
    """Waits until `holds()` is true, and returns what it returned."""
    until = time.monotonic() + seconds
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > until:
            raise Failed(f"not within {seconds} s: {what}")
        time.sleep(0.5)


def same(what, is_, should):
    """Fails unless they are equal."""
    if is_ != should:
        raise Failed(f"{what}: {is_!r}, must be {should!r}")
