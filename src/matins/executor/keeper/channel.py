"""A socket of the keeper's loop: frames both ways, without ever blocking."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Callable, Iterator

from matins.executor.keeper.frames import Decoder

_CHUNK = 256 * 1024


class KeeperChannel:
    """`on_ready` is called whenever there is something to read; see `receive`.

    What the other end does not take yet is kept until it does. `is_open` until that end is closed.
    """

    def __init__(
        self, end: socket.socket, selector: selectors.BaseSelector, on_ready: Callable[[], None]
    ) -> None:
        self._end = end
        self._selector = selector
        self._on_ready = on_ready
        self._decoder = Decoder()
        self._unsent = bytearray()
        self.is_open = True
        end.setblocking(False)
        selector.register(end, selectors.EVENT_READ, self._turn)

    @property
    def unsent(self) -> int:
        """How many bytes the other end has not taken yet."""
        return len(self._unsent)

    def send(self, words: bytes) -> None:
        """Send what can be sent now, and keep the rest; a closed end hears nothing."""
        if self.is_open and words:
            self._unsent += words
            self._flush()

    def send_with(self, words: bytes, descriptors: list[int]) -> None:
        """Send words with descriptors, the first of them now. Raises OSError; BlockingIOError: no
        room now.
        """
        if self._unsent:
            raise BlockingIOError
        sent = socket.send_fds(self._end, [words], descriptors)
        self.send(words[sent:])

    def receive(self) -> Iterator[dict[str, object]]:
        """Read what came; gives the frames that it completes. Afterwards look at `is_open`."""
        try:
            chunk = self._end.recv(_CHUNK)
        except BlockingIOError:
            return iter(())
        except ConnectionError:
            chunk = b""
        if not chunk:
            self.close()
        return self._decoder.feed(chunk)

    def close(self) -> None:
        """Hang up."""
        if self.is_open:
            self.is_open = False
            self._selector.unregister(self._end)
            self._end.close()

    def _turn(self) -> None:
        if self._unsent:
            self._flush()
        if self.is_open:
            self._on_ready()

    def _flush(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._end.send(self._unsent)]
        except BlockingIOError:
            pass  # it is frozen, or busy: it will listen again, or end
        except ConnectionError:
            self._unsent.clear()  # reading tells of the end, after what was said before it
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)
        self._selector.modify(self._end, events, self._turn)
