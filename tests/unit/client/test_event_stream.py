"""Server-sent events, cut out of bytes wherever these are cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from matins.client.event_stream import EventReader, ServerEvent

SENT = (
    b': a comment\n\nevent: output\nid: 1:7\ndata: {"text": "\xc3\xa4"}\n\n:\n\n'
    b"event: end\r\ndata:a\r\ndata: b\r\n\r\nevent: empty\n\ndata: not whole\n"
)
READ = [
    ServerEvent("output", b'{"text": "\xc3\xa4"}', "1:7"),
    ServerEvent("end", b"a\nb", ""),
]


@given(st.lists(st.integers(0, len(SENT)), max_size=8).map(sorted))
def test_events_are_read_in_whatever_pieces_they_come(cuts: list[int]) -> None:
    reader = EventReader()
    bounds = zip([0, *cuts], [*cuts, len(SENT)], strict=True)
    events = [event for first, past in bounds for event in reader.feed(SENT[first:past])]
    assert events == READ
