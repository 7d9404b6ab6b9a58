"""Prefect, imported before a process forks and there for a fork once it imports Prefect itself.

Until then a fork has no module of Prefect's, and its logging is as Python begins. From then on
Prefect has read the fork's own environment, as if it had been imported there.
"""

import importlib
import logging
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

NAME = "prefect"
# What flows import of it; importing one of these imports a hundred others.
_MODULES = ("artifacts", "deployments.flow_runs", "flow_engine", "main", "task_engine")


class SetAside:
    """Finds Prefect where Python looks for modules first, and gives its modules back."""

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self._modules = modules
        self._spec = modules[NAME].__spec__

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == NAME else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._modules[NAME]

    def exec_module(self, module: ModuleType) -> None:
        """What Prefect does as it is imported, without its modules."""
        module.__spec__ = self._spec
        sys.meta_path.remove(self)
        sys.modules.update(self._modules)
        from prefect.context import refresh_global_settings_context
        from prefect.logging import configuration

        refresh_global_settings_context()
        configuration.PROCESS_LOGGING_CONFIG.clear()
        configuration.setup_logging()


def set_prefect_aside() -> None:
    """Import Prefect, and have the next import of it find what is there by now."""
    root, finders = logging.getLogger(), list(sys.meta_path)
    level, handlers = root.level, list(root.handlers)
    for module in _MODULES:
        importlib.import_module(f"{NAME}.{module}")
    root.setLevel(level)
    root.handlers[:] = handlers
    # Its own finder makes old names of its modules new ones.
    own = [one for one in sys.meta_path if one not in finders]
    names = [name for name in sys.modules if name.partition(".")[0] == NAME]
    aside = SetAside({name: sys.modules.pop(name) for name in names})
    assert own == sys.meta_path[: len(own)]
    sys.meta_path.insert(0, aside)
