"""Where Chromium is: `python -m tests.web.chromium` installs it if it is missing, or says how."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

CHROMIUM = "CHROMIUM"
"""The environment variable that names the program, where it is not in the PATH."""

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_HOW = f"install Chromium (Debian: apt install chromium), or name the program in {CHROMIUM}"


def find_chromium() -> str | None:
    """Return the path of a Chromium, or None where there is none."""
    named = os.environ.get(CHROMIUM)
    return shutil.which(named) if named else next(filter(None, map(shutil.which, _PROGRAMS)), None)


def main() -> None:
    """Install it by apt, if that is what it takes and this is root."""
    if find_chromium() is None and CHROMIUM not in os.environ and _is_root_of_debian():
        for command in (["update", "-qq"], ["install", "--yes", "-qq", "chromium"]):
            subprocess.run(["apt-get", *command], check=True)
    if find_chromium() is None:
        sys.exit(f"no Chromium was found: {_HOW}")


def _is_root_of_debian() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


if __name__ == "__main__":
    main()
