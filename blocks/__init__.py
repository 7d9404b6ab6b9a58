"""Prefect Blocks: validated configuration that yields a frozen, picklable spec.

``prefect block register -m blocks`` makes their types known to a server. Each is imported
once it is asked for: the credentials that two of them nest take Prefect's packages for all
clouds with them, which is longer than planning a scene.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blocks.mosaic_recipe import MosaicRecipe
    from blocks.scene_store import SceneStore
    from blocks.tile_manifest import TileManifest

__all__ = ["MosaicRecipe", "SceneStore", "TileManifest"]

_MODULES = {
    "MosaicRecipe": "blocks.mosaic_recipe",
    "SceneStore": "blocks.scene_store",
    "TileManifest": "blocks.tile_manifest",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
