"""``python -m reference FOLDER``: the pages as files, for who has no mkdocs."""

import sys
from pathlib import Path

from reference.pages import PAGES

if len(sys.argv) != 2:
    sys.exit("usage: python -m reference FOLDER")
folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, page in PAGES.items():
    (folder / name).write_text(page())
