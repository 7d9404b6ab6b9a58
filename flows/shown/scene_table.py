"""What became of many scenes, as artifacts: a table, and links to the runs."""

from collections.abc import Sequence
from typing import Final

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from flows.reports.backfill import SceneRow
from flows.shown.showing import TABLE_ROWS, optional

# As a page of Prefect's sees it, wherever its server puts the pages.
_RUN: Final = "../../runs/flow-run"


def show_scenes(key: str, rows: Sequence[SceneRow], description: str) -> None:
    """Keep the table as ``key``, and as ``key-runs`` the links, which no table's cell can hold."""
    shown = rows[:TABLE_ROWS]
    with optional(f"the table {key}"):
        create_table_artifact(
            table=[row.to_table() for row in shown], key=key, description=description
        )
        links = run_links(shown)
        if links:
            create_markdown_artifact(links, key=f"{key}-runs", description="Each scene's run.")


def run_links(rows: Sequence[SceneRow]) -> str:
    """Markdown: a line for each scene that has a run; empty where none has."""
    return "\n".join(
        f"- [{_plain(row.scene)}]({_RUN}/{row.run_id}): {row.state}" for row in rows if row.run_id
    )


def _plain(text: str) -> str:
    """A scene's name as it stands, whatever Markdown makes of its signs."""
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>!&|~#" else sign for sign in text)
