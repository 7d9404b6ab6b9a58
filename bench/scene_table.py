"""What becomes of each real scene in a folder: ``python -m bench.scene_table FOLDER DOCUMENT``.

Puts the table between the markers of a document. Only names and reasons stand in it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scenemosaic.errors import InputError
from scenemosaic.planning import PlannedScene, survey
from scenemosaic.plans.plan import PlanOptions

BEGIN: Final = "<!-- begin: python -m bench.scene_table -->"
END: Final = "<!-- end -->"


def main(folder: str, document: str) -> None:
    path = Path(document)
    path.write_text(filled(path.read_text(), Path(folder)))


def filled(text: str, folder: Path) -> str:
    """The document with the table of ``folder``. ValueError where it has no markers."""
    before, marker, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not marker or not end:
        raise ValueError(f"the document has no {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table(folder)}\n{END}{after}"


def table(folder: Path) -> str:
    """A row for every GeoTIFF of the folder, by name."""
    lines = ["| file | mosaic | or refused: |", "| --- | --- | --- |", *_rows(folder)]
    return "\n".join(lines)


def _rows(folder: Path) -> Iterator[str]:
    for source in sorted(folder.glob("*.tif")):
        try:
            scene = survey([str(source)], PlanOptions())
        except InputError as error:
            yield f"| `{source.name}` | | {_without(str(error), source)} |"
        else:
            yield f"| `{source.name}` | {_made(scene, source)} | |"


def _made(scene: PlannedScene, source: Path) -> str:
    recipe = scene.plan.recipe
    shape = f"{recipe.grid.width} x {recipe.grid.height}, {recipe.bands} x {recipe.dtype}"
    return "; ".join([shape, *(_without(note, source) for note in scene.notes)])


def _without(text: str, source: Path) -> str:
    """A message without the file's own place, and with nothing that ends a table's cell."""
    for place in (str(source.resolve()), str(source)):
        text = text.replace(f"{place}: ", "").replace(f"'{place}' ", "")
    return text.replace("|", r"\|")


if __name__ == "__main__":
    main(*sys.argv[1:])
