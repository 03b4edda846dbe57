"""Where whole outputs are kept, if not in PostgreSQL: what MATINS_OUTPUT_STORE names."""

from __future__ import annotations

from pathlib import Path

from matins.domain.ports.output import OutsideOutput
from matins.domain.values.errors import SettingsError
from matins.kernel.addresses import BUCKET
from matins.store.output_folder import FolderKeptOutput


def outside_output(store: str | None) -> OutsideOutput | None:
    """Return the folder or the bucket; None: outputs are in PostgreSQL. Raises SettingsError."""
    if store is None:
        return None
    if not store.startswith(BUCKET):
        return FolderKeptOutput(Path(store))
    try:
        from matins.store.output_s3 import S3KeptOutput  # noqa: PLC0415 # an extra, and not light
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"MATINS_OUTPUT_STORE: {error.name} is needed for S3: pip install 'matins[s3]'"
        ) from error
    bucket, _, prefix = store.removeprefix(BUCKET).partition("/")
    return S3KeptOutput(bucket, prefix.strip("/"))
