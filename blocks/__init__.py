"""Prefect Blocks: validated configuration that yields a frozen, picklable spec.

``prefect block register -m blocks`` makes their types known to a server.
"""

from blocks.mosaic_recipe import MosaicRecipe
from blocks.scene_store import SceneStore
from blocks.tile_manifest import TileManifest

__all__ = ["MosaicRecipe", "SceneStore", "TileManifest"]
