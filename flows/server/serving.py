"""Serve the deployments of :mod:`flows.server.deployment_table` from this very process."""

import asyncio
import importlib
from collections.abc import Sequence
from typing import Any

import httpx
from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
from prefect.client.schemas.responses import DeploymentResponse
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import ObjectNotFound
from prefect.runner import Runner
from prefect.schedules import Cron, Interval, Schedule
from prefect.types.entrypoint import EntrypointType

import blocks
from flows.server import ending
from flows.server.deployment_table import NAME, TABLE, TAGS, Entry, Timetable
from flows.server.form_schema import schema_of
from flows.terminal.console import complain
from scenemosaic.errors import InputError


def register_blocks() -> list[str]:
    """Make the types of our blocks known to the server; their names."""
    kinds = [getattr(blocks, name) for name in blocks.__all__]
    for kind in kinds:
        kind.register_type_and_schema()
    return [kind.get_block_type_slug() for kind in kinds]


def register_deployments(runs_at_once: int) -> tuple[Runner, list[str]]:
    """A runner of every deployment, which the server knows of from now on; their names.

    ``runs_at_once`` is of all of them together. Raises InputError.
    """
    # What a person paused or turned on stays so, whoever stops and starts this process.
    runner = Runner(limit=runs_at_once, pause_on_shutdown=False)
    served = deployments()
    for one in served:
        register(runner, one)
    return runner, [one.full_name for one in served]


def register(runner: Runner, one: RunnerDeployment) -> None:
    """Tell the server of a deployment. Raises InputError where what it kept does not fit it."""
    try:
        runner.add_deployment(one)
    except httpx.HTTPStatusError as error:
        if error.response.status_code != httpx.codes.CONFLICT:
            raise
        raise InputError(
            f"the parameters that {one.full_name} was given in Prefect do not fit its flow any "
            f"more: {error.response.json()['detail']}: edit them there, or delete the deployment, "
            "which the next start then makes anew"
        ) from error


def serve_all(runner: Runner) -> None:
    """Carry out what is scheduled, until interrupted or terminated; then end its runs."""
    asyncio.run(ending.serve(runner, complain))


def deployments() -> list[RunnerDeployment]:
    """The table's deployments. What somebody made of their schedules and parameters is kept."""
    return [_deployment(entry) for entry in TABLE]


def flow_of(entry: Entry) -> "Flow[..., Any]":
    """The flow that an entry deploys."""
    path, _, name = entry.entrypoint.partition(":")
    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    found: Flow[..., Any] = getattr(module, name)
    return found


def _deployment(entry: Entry) -> RunnerDeployment:
    flow = flow_of(entry)
    known = _known(f"{flow.name}/{NAME}")
    made: Any = flow.to_deployment(  # Prefect's type is an async function's, too
        NAME,
        description=entry.description,
        tags=list(TAGS),
        parameters=(known and known.parameters) or dict(entry.parameters),
        schedules=_ours(entry.timetables) if known is None else _kept(known),
        paused=known is not None and known.paused,
        concurrency_limit=ConcurrencyLimitConfig(
            limit=entry.limit, collision_strategy=ConcurrencyLimitStrategy[entry.collision]
        ),
        # Found by its module's name in whatever folder this process stands.
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    made._parameter_openapi_schema = schema_of(flow)
    return made  # type: ignore[no-any-return]


def _known(name: str) -> DeploymentResponse | None:
    with get_client(sync_client=True) as client:
        try:
            return client.read_deployment_by_name(name)
        except ObjectNotFound:
            return None


def _kept(known: DeploymentResponse) -> list[Any]:
    return [
        DeploymentScheduleCreate(
            schedule=one.schedule, active=one.active, parameters=one.parameters, slug=one.slug
        )
        for one in known.schedules
    ]


def _ours(timetables: Sequence[Timetable]) -> list[Any]:
    return [_schedule(one) for one in timetables]


def _schedule(one: Timetable) -> Schedule:
    more: dict[str, Any] = {
        "active": False,
        "slug": one.slug,
        "timezone": one.time_zone,
    }
    if one.every is not None:
        return Interval(one.every, **more)
    return Cron(str(one.cron), **more)
