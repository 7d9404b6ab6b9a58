"""The document of a STAC collection: made once, for the items that name it, and then left alone.

It says only what is true of every mosaic that will ever come: its place is the Earth, its
time is open. Whoever knows more replaces it; nothing here ever writes over it.
"""

from typing import Final

from scenemosaic import keys
from scenemosaic.canonical import encode
from scenemosaic.committing.mutable import Mutable
from scenemosaic.publishing.published import head
from scenemosaic.publishing.stac import STAC_VERSION
from scenemosaic.session import Run, Session

_EXTENT: Final = {
    "spatial": {"bbox": [[-180.0, -90.0, 180.0, 90.0]]},
    "temporal": {"interval": [[None, None]]},
}


def collection_json(collection: str) -> bytes:
    """The bytes of a collection's document, the same from every writer."""
    value: dict[str, object] = {
        "type": "Collection",
        "stac_version": STAC_VERSION,
        "id": collection,
        "description": f"Mosaics of {collection}.",
        "license": "other",
        "extent": _EXTENT,
        "links": [],
    }
    return encode(value)


def ensure_collection(session: Session, run: Run, collection: str) -> None:
    """Put the document where there is none yet."""
    key = keys.collection_key(collection)
    if head(session, key) is not None:
        return
    document = collection_json(collection)
    mutable = Mutable(session.store, key, policy=session.policy, effects=session.effects)
    mutable.change(lambda data, _: (None if data else document, None), run.run_id)
