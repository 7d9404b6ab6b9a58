"""Where a job's pinned sources lie, and whether they are still what was pinned."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scenemosaic.errors import InputError, SourceChanged, SourceReadError
from scenemosaic.plans.pin import Pin
from scenemosaic.session import JobSpec
from scenemosaic.sources.locations import canonical_location
from scenemosaic.sources.pins import check_readable, pin_source, verify_pin
from scenemosaic.sources.reading_settings import reading_as


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
    """The locations in the plan's order, whatever ``given``'s is.

    Those of several are told apart by their content; what has changed, by its place among the
    rest. Of a single one nothing is asked.
    """
    pins, places = spec.plan.sources, [canonical_location(source) for source in given]
    if not places:
        return tuple(_known(spec, pin) for pin in pins)
    if spec.plan.recipe.merge is None and len(places) == 1:
        return tuple(places)
    if spec.plan.recipe.merge is None:
        raise InputError(f"the job has {len(pins)} sources, and {len(given)} were given")
    with reading_as(spec.place.store):
        matched = {pin_source(place).pin: place for place in reversed(places)}
    taken = {matched[pin] for pin in pins if pin in matched}
    rest = iter([place for place in places if place not in taken])
    found = [matched.get(pin) or _known_or(pin, rest) for pin in pins]
    if None in found:
        raise InputError(f"the job has {len(pins)} sources, and {len(given)} were given")
    return tuple(place for place in found if place is not None)


def _known_or(pin: Pin, rest: Iterator[str]) -> str | None:
    return pin.uri or next(rest, None)


def _known(spec: JobSpec, pin: Pin) -> str:
    if pin.uri is None:
        raise InputError(
            f"job {spec.plan.job_id} is of a local file of {pin.size_bytes} bytes with SHA-256 "
            f"{pin.sha256}: say with --source where it lies"
        )
    return pin.uri
