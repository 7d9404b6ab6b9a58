"""One scene's job as it is to be run, and how its run ended: values alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flows.engines.engine import THREADS, Engine
from flows.forms.item_fields import ItemFields
from flows.forms.parameters import Mode
from flows.forms.recipe_parameters import fields_of
from flows.forms.run_names import process_name
from flows.redact import public_manifest, public_source
from flows.server.recordable import LOCATION, MANIFEST
from flows.starting.jobs import SceneJob
from scenemosaic import keys
from scenemosaic.errors import InputError


class Unrecordable(InputError):
    """A run of this scene would tell Prefect's records a secret, or does not fit a form."""


@dataclass(frozen=True, slots=True)
class Where:
    """The flow's own parameters that say where outputs go. They hold no secret."""

    to: str | None = None
    manifest: str | None = None
    store: str | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """One scene's job as it is to be run."""

    scene: SceneJob
    where: Where
    mode: Mode = "missing"
    attempt: int = 1
    engine: Engine = THREADS

    @property
    def key(self) -> str:
        """What a run is known by; root and manifest are part of it.

        Prefect keeps keys for a flow, whatever its deployment, and the same scene may go to
        two places.
        """
        spec = self.scene.spec
        place = f"{spec.root} {public_manifest(spec.manifest)}"
        return f"{keys.partition(spec.plan.job_id, place)}-{self.mode}-{self.attempt}"

    @property
    def name(self) -> str:
        return process_name(self.scene.sources, self.where.to, self.where.store)

    def _check_where(self) -> None:
        where = self.where
        try:
            for one, kind in ((where.to, LOCATION), (where.manifest, MANIFEST)):
                kind.checked(one or "")
        except ValueError as error:
            raise Unrecordable(str(error)) from None

    def _item(self) -> dict[str, Any] | None:
        item = self.scene.options.item
        try:
            return None if item is None else ItemFields.of(item).as_json()
        except ValueError as error:
            raise Unrecordable(f"what its item says does not fit a form: {error}") from None

    def parameters(self) -> dict[str, Any]:
        """Those of ``process-scene``, as JSON. Raises Unrecordable."""
        self._check_where()
        if any(public_source(source) != source for source in self.scene.sources):
            raise Unrecordable(
                "Prefect keeps parameters, and a signed URL is a secret: process it by the "
                "command line, or give it without a signature"
            )
        recipe = fields_of(self.scene.options)
        if recipe is None:
            raise Unrecordable("a deployment's form does not offer such a recipe")
        given: Mapping[str, Any] = {
            "sources": list(self.scene.sources),
            "to": self.where.to,
            "manifest": self.where.manifest,
            "store": self.where.store,
            "recipe": recipe.model_dump(mode="json", exclude_none=True),
            "item": self._item(),
            "engine": self.engine.name if self.engine.crosses else None,
            "engine_address": self.engine.address,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Started:
    """A run that was started or found. ``is_earlier``: it had ended before it was asked for."""

    run_id: str | None
    is_earlier: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: its final state's name and message, and the exit code they stand for."""

    name: str
    message: str
    run_id: str | None
    exit_code: int
    is_earlier: bool = False
