"""rasterio without boto3, which it imports wherever it is installed: half of what it takes.

It would look for credentials by it alone, and sources on S3 bring them along
(:mod:`scenemosaic.sources.reading_env`). What imports boto3 itself finds it as ever.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Final, cast

_IMPORTS_IT: Final = "rasterio.session"
_NAME: Final = "boto3"
# What Python takes for a module that is not installed.
_ABSENT: Final = cast("ModuleType", None)


def rasterio_without_boto3() -> None:
    """Have rasterio, once something imports it, do without boto3, as where that is not installed.

    For the start of a command, before it has threads; of no use where rasterio is there already.
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _IMPORTS_IT or _NAME in sys.modules:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        sys.modules[_NAME] = _ABSENT
        try:
            super().exec_module(module)
        finally:
            del sys.modules[_NAME]
