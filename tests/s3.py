"""A real S3 server: rclone, which serves a folder, a bucket for each folder in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

BUCKET = "outputs"
"""There is one from the beginning."""

KEY, SECRET = "matins-tests", "a-secret-of-the-tests"
_RCLONE = Path(sys.executable).with_name("rclone")
_SERVES = re.compile(rb"server on \[(http://[\d.:]+)/\]")
_START_S = 30


class S3Server:
    """Where it is, and its buckets."""

    def __init__(self, endpoint: str, folder: Path) -> None:
        self._endpoint = endpoint
        self._folder = folder

    def make_bucket(self, name: str) -> None:
        """Make another bucket; it is there a moment later."""
        (self._folder / name).mkdir()

    def objects(self, prefix: str) -> list[str]:
        """Return the names of all objects under a prefix in the bucket, without it."""
        place = self._folder / BUCKET / prefix
        return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())

    def variables(self) -> dict[str, str]:
        """Return the environment of who uses it."""
        return {
            "AWS_ENDPOINT_URL_S3": self._endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """Serve a folder until the end, which takes a tenth of a second to begin."""
    (folder / BUCKET).mkdir()
    serve = [str(_RCLONE), "serve", "s3", "--auth-key", f"{KEY},{SECRET}", "--config", ""]
    where = ["--addr", "127.0.0.1:0", "--dir-cache-time", "100ms", str(folder)]
    with TemporaryFile() as log:
        process = subprocess.Popen([*serve, *where], stderr=log)
        try:
            yield S3Server(_endpoint(process, log), folder)
        finally:
            process.kill()
            process.wait()


def _endpoint(process: subprocess.Popen[bytes], log: IO[bytes]) -> str:
    """Wait until it serves; return where."""
    until = time.monotonic() + _START_S
    while True:
        told = os.pread(log.fileno(), 10_000, 0)
        if found := _SERVES.search(told):
            return found[1].decode()
        assert process.poll() is None, told
        assert time.monotonic() < until, told
        time.sleep(0.01)
