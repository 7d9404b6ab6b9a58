"""What Prefect's records say of a scene that was planned in this very process."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from flows.engines.limits import Limits
from flows.forms import parameters
from flows.forms.fitting import check_given
from flows.redact import public_manifest, public_source
from scenemosaic.job import JobSpec

# As ``process-scene`` has them, which imports Prefect.
ANNOTATIONS: Final[Mapping[str, Any]] = {
    "sources": parameters.Sources,
    "to": parameters.To,
    "manifest": parameters.Manifest,
    "title": parameters.Title,
    "reuse": parameters.ReusedJob,
    "workers": parameters.Workers,
    "windows_per_task": parameters.WindowsPerTask,
    "strict_history": bool,
    "engine": parameters.EngineChoice,
    "engine_address": parameters.EngineAddress,
}
_KINDS: Final = {name: TypeAdapter(kind) for name, kind in ANNOTATIONS.items()}


def scene_parameters(spec: JobSpec, limits: Limits) -> dict[str, Any]:
    """Parameters of ``process-scene`` that hold no secret; a form has the first sources alone.

    Raises InputError where the flow would not take one of them.
    """
    given = {
        "sources": [public_source(one) for one in spec.locations[: parameters.MOST_SOURCES]],
        "to": spec.root,
        "manifest": public_manifest(spec.manifest),
        "title": spec.plan.title,
        "reuse": spec.reuse,
    }
    check_given(_KINDS, given)
    return given | limit_parameters(limits)


def limit_parameters(limits: Limits) -> dict[str, Any]:
    """Those that are the same for every scene. Raises InputError where one would not be taken."""
    given = {
        "workers": limits.workers,
        "windows_per_task": limits.windows_per_task,
        "strict_history": limits.strict_history,
        "engine": limits.engine.name,
        "engine_address": limits.engine.address,
    }
    check_given(_KINDS, given)
    return given
