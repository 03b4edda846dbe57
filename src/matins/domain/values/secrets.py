"""What probably holds a secret, by its name.

Imports the standard library only, because the keeper uses it too.
"""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "***"
"""What is shown in place of a secret."""

_NAME = re.compile(
    r"TOKEN|PASSW|PASSPHRASE|SECRET|KEYS?(?![A-Z])|CREDENTIAL|AUTH(?!OR(?!I))|COOKIE|SIGNATURE|DSN",
    re.IGNORECASE,
)


def looks_secret(name: str) -> bool:
    """Return whether a variable, header or field of that name probably holds a secret."""
    return _NAME.search(name) is not None
