"""Unpacking what npm has packed."""

import tarfile
from pathlib import Path


def unpack(archive: Path, folder: Path) -> None:
    """Unpack *archive* into *folder*; where Python can, nothing may leave the folder (3.11.4 and newer)."""
    with tarfile.open(archive) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
        packed.extractall(folder)  # see above
