"""What the keeper passes on of a command while it runs: output, masked, and its progress.

Live output is the newest of what came; whole output is all of it, up to a bound. Neither waits for
anybody: what is too much is left out, and a line says how much.
"""

from __future__ import annotations

from matins.executor.keeper.frames import KeeperLimits
from matins.executor.markers import Markers, ProgressMade
from matins.executor.masking import Mask
from matins.executor.output import HeadTail, TextStream, left_out

CHUNK = 64 * 1024
"""How much output is read at once, in bytes: what a pipe holds."""


class Passing:
    """The output of one command: what of it is to be passed on, and what is kept to its end.

    `keep`: how many bytes of it are to be kept, so that they are passed on whole. What it gives
    are the words of frames (frames.py).
    """

    def __init__(self, limits: KeeperLimits, mask: Mask, keep: int) -> None:
        self._limits = limits
        self._mask = mask
        self._ends = HeadTail(limits.head_max, limits.tail_max)
        self._markers = Markers(mask)
        self._text = TextStream(mask)
        self._news = bytearray()
        self._dropped = 0
        self._whole_left = keep
        self.is_kept = keep > 0
        self._beyond = 0
        """How many bytes came after those that are passed on whole."""
        self._told: ProgressMade | None = None
        self._has_begun = False

    @property
    def has_news(self) -> bool:
        """Whether there is anything to be passed on."""
        return bool(self._news) or self._markers.progress != self._told

    @property
    def is_whole(self) -> bool:
        """Whether nothing should be left out of what comes now."""
        return self._whole_left > 0

    @property
    def is_full(self) -> bool:
        """Whether something that is to be kept is lost with the next chunk, unless it is taken."""
        return self.is_whole and len(self._news) > self._limits.whole_max - CHUNK

    def append(self, chunk: bytes) -> None:
        """Take what the command wrote; nothing is its end."""
        self._ends.append(chunk)
        self._markers.feed(chunk)
        self._news += chunk
        if self.is_kept and not self.is_whole:
            self._beyond += len(chunk)
        most = self._limits.whole_max if self.is_whole else self._limits.live_max
        over = max(len(self._news) - most, 0)
        del self._news[:over]
        self._dropped += over

    def take(self) -> dict[str, object]:
        """Return what there is to be passed on."""
        self._has_begun = True
        frame = self._take_text(is_end=False)
        if self._markers.progress != self._told:
            self._told = self._markers.progress
            frame["progress"] = self._told
        return frame

    def finish(self) -> dict[str, object]:
        """Return what is to be passed on when nothing more will come.

        A command that ends before anything of it was passed on is told of by its result alone,
        unless it is to be kept.
        """
        if not (self._has_begun or self.is_kept):
            return {}
        frame = self._take_text(is_end=True)
        if self._beyond:
            shown = self._ends.tail(self._mask, self._beyond)
            left = max(self._beyond - self._limits.tail_max, 0)
            kept = f"{left_out(left)}{shown}" if left else shown
            frame["kept"] = f"{frame.get('kept', '')}{kept}"
        return frame

    def result(self) -> dict[str, object]:
        """Return what is kept of it, in the words of `Result`."""
        refused = self._markers.refused
        note = f"\n[{refused} lines with ::set were too many, too long or not key=value]\n"
        results = self._markers.results
        return {
            "output": self._ends.text(self._mask) + (note if refused else ""),
            "output_cut": self._ends.cut,
            "results": {key: self._mask.apply(value) for key, value in results.items()},
        }

    def _take_text(self, *, is_end: bool) -> dict[str, object]:
        news, self._news = bytes(self._news), bytearray()
        before, is_cut = "", self._dropped > 0
        if is_cut:
            before, self._dropped = self._text.skip(self._dropped), 0
        whole, beyond = news[: self._whole_left], news[self._whole_left :]
        if not self.is_whole:
            return _words(live=before + self._fed(beyond, is_cut=is_cut, is_end=is_end))
        self._whole_left -= len(whole)
        output = before + self._fed(whole, is_cut=is_cut, is_end=is_end and not beyond)
        if self.is_whole or (is_end and not beyond):
            return _words(output=output)
        self._beyond = len(beyond)
        kept = self._text.held()
        return _words(output=output, kept=kept, live=self._fed(beyond, is_end=is_end))

    def _fed(self, raw: bytes, *, is_end: bool, is_cut: bool = False) -> str:
        text = self._text.feed(raw, is_end=is_end)
        return self._mask.after_cut(text) if is_cut else text


def _words(**texts: str) -> dict[str, object]:
    return {name: text for name, text in texts.items() if text}
