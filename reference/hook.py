"""The hook of mkdocs.yml: adds the reference pages to the documents as they are built."""

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page


def on_files(files: Files, config: Any) -> Files:
    """Each page stands below ``reference/``, as if it were a file."""
    # mkdocs loads this file by its path: the folders beside it are not on sys.path.
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from reference.pages import PAGES

    for name, page in PAGES.items():
        files.append(File.generated(config, f"reference/{name}", content=page()))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """The list of the pages leads to them, which a checkout's own cannot: it has none."""
    if page.file.src_uri != "reference/README.md":
        return markdown
    return re.sub(r"`(\w+\.md)`", r"[\1](\1)", markdown)
