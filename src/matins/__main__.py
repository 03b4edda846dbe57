"""`python -m matins` is the command `matins`."""

from __future__ import annotations

from matins.cli.app import main

main()
