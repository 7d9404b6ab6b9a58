"""Every block with its fields."""

from collections.abc import Iterator

from prefect.blocks.core import Block

import blocks
from reference.schema import fields

HEAD = """# Blocks

Made from the code. A block keeps validated configuration under a name; `scenemosaic serve` and
`prefect block register -m blocks` make the types known to a server. Credentials are blocks of
Prefect's own packages (AWS, Google Cloud, Azure), nested by their names.
"""


def page() -> str:
    """The page in Markdown."""
    return "\n".join([HEAD, *_all()])


def _all() -> Iterator[str]:
    for name in blocks.__all__:
        kind: type[Block] = getattr(blocks, name)
        yield f"## {kind.get_block_type_name()}"
        yield ""
        yield f"{kind.get_description()} Its slug is `{kind.get_block_type_slug()}`."
        yield from fields(kind.model_json_schema())
