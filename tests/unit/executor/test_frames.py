"""The words between executor and keeper."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from matins.executor.keeper.frames import Decoder, Order, encode

FRAMES = st.lists(
    st.dictionaries(st.text(max_size=5), st.text(max_size=30) | st.integers() | st.none()),
    max_size=8,
)


@given(FRAMES, st.integers(1, 50))
def test_frames_come_out_as_they_went_in_whatever_the_chunks(
    frames: list[dict[str, object]], size: int
) -> None:
    stream = b"".join(encode(frame) for frame in frames)
    decoder = Decoder()
    found: list[dict[str, object]] = []
    for start in range(0, len(stream), size):
        found += decoder.feed(stream[start : start + size])
    assert found == frames


def test_an_attempt_is_marked_by_its_run_id_and_number() -> None:
    env = {"PATH": "/bin", "MATINS_RUN_ID": "r", "MATINS_ATTEMPT": "2"}
    assert Order(1, ["true"], env, None, 1.0).marks() == {b"MATINS_RUN_ID=r", b"MATINS_ATTEMPT=2"}


def test_the_keeper_process_imports_the_standard_library_only_and_no_event_loop() -> None:
    program = (
        "import sys, matins.executor.keeper.loop\n"
        "print(len(sys._current_frames()), *{name.partition('.')[0] for name in sys.modules})"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    threads, *names = found.stdout.decode().split()
    assert threads == "1"  # Python 3.14's ctypes imports `threading`, and starts none
    assert {"asyncio", "subprocess", "msgspec", "aiohttp"}.isdisjoint(names)
    assert "matins" in names
