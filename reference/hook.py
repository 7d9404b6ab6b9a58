"""The hook of mkdocs.yml: adds the reference pages to the documents as they are built."""

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files


def on_files(files: Files, config: Any) -> Files:
    """Each page stands below ``reference/``, as if it were a file."""
    # mkdocs loads this file by its path: the folders beside it are not on sys.path.
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from reference.pages import PAGES

    for name, page in PAGES.items():
        files.append(File.generated(config, f"reference/{name}", content=page()))
    return files
