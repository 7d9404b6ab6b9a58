"""Where a job's pinned sources lie, and whether they are still what was pinned."""

from collections.abc import Sequence
from dataclasses import replace

from scenemosaic.errors import InputError, SourceChanged, SourceReadError
from scenemosaic.locations import canonical_location
from scenemosaic.pins import check_readable, verify_pin
from scenemosaic.plan import Pin, Plan, PlanOptions
from scenemosaic.reading_env import reading_as
from scenemosaic.session import JobSpec


def located(spec: JobSpec, given: Sequence[str]) -> JobSpec:
    """The job with its sources' locations: ``given``, in the plan's order, or their pins' URIs.

    Raises InputError where one is not known, SourceChanged where it is not what was pinned.
    """
    locations = find_sources(spec, given)
    for pin, location in zip(spec.plan.sources, locations, strict=True):
        try:
            with reading_as(spec.place.store):
                verify_pin(pin, location)
        except SourceReadError as error:
            raise SourceChanged(
                f"job {spec.plan.job_id} is of another source: {error}; restore the source, or "
                "repair with --accept-new-source, which makes a new job with the same recipe"
            ) from error
    return replace(spec, locations=locations)


def check_given(spec: JobSpec, given: Sequence[str]) -> None:
    """InputError where a source that was given is not there, whatever it should hold."""
    with reading_as(spec.place.store):
        for location in find_sources(spec, given) if given else ():
            check_readable(location)


def find_sources(spec: JobSpec, given: Sequence[str]) -> tuple[str, ...]:
    """The locations alone; nothing is asked of them."""
    pins = spec.plan.sources
    if given and len(given) != len(pins):
        raise InputError(f"the job has {len(pins)} sources, and {len(given)} were given")
    if given:
        return tuple(canonical_location(source) for source in given)
    return tuple(_known(spec, pin) for pin in pins)


def _known(spec: JobSpec, pin: Pin) -> str:
    if pin.uri is None:
        raise InputError(
            f"job {spec.plan.job_id} is of a local file of {pin.size_bytes} bytes with SHA-256 "
            f"{pin.sha256}: say with --source where it lies"
        )
    return pin.uri


def options_of(plan: Plan) -> PlanOptions:
    """What has to be asked of planning so that other sources get the same recipe."""
    recipe = plan.recipe
    return PlanOptions(
        window=recipe.window_size,
        block_size=recipe.block_size,
        compress=recipe.compress,
        level=recipe.level,
        predictor=recipe.predictor,
        interleave=recipe.interleave,
        resampling=recipe.resampling,
        effort=recipe.effort,
        whole_bits=recipe.nbits is None,
        datetime=plan.datetime if plan.datetime_source == "option" else None,
        collection=plan.collection,
    )
