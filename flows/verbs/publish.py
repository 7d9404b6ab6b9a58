"""``scenemosaic publish``: the engine alone, or a flow run where Prefect's records are kept."""

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from flows.redact import public_manifest
from flows.server.api import PrefectUnavailable, configured_api, ensure_api
from flows.terminal.console import Console
from flows.texts import publication as publication_text
from flows.who import operator
from scenemosaic import job
from scenemosaic.errors import InputError, SceneMosaicError
from scenemosaic.job import JobSpec
from scenemosaic.keys import ledger_key
from scenemosaic.ledger.book import Wanted
from scenemosaic.places import Place
from scenemosaic.publishing import publication
from scenemosaic.publishing.ledger_words import show
from scenemosaic.publishing.publication import Publication

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for."""

    job_id: str
    place: Place
    ledger: str
    slots: int
    time_zone: str
    approve: bool
    run_id: str | None


def publish(request: Request, console: Console) -> int:
    """Publish and answer; the exit code."""
    recorded = configured_api() is not None
    if request.approve and not recorded:
        raise InputError(
            "--approve waits for a person, and a server that ends with the command cannot be "
            "answered: start one that stays (prefect server start) and set PREFECT_API_URL"
        )
    run_id = request.run_id or f"cli-{uuid.uuid4()}"
    wanted = Wanted(run_id, request.job_id, request.slots, request.time_zone, operator())
    ledger_key(request.ledger)
    spec = job.load_at(request.job_id, request.place)
    if recorded:
        found = _run_flow(request, spec, console)
    else:
        # A temporary server would be started to record what nobody will ever read.
        found = publication.publish(spec, request.ledger, wanted)
    if found.conflict is not None:
        return console.fail(found.conflict, publication_text.as_json(found))
    console.answer(publication_text.as_json(found), publication_text.as_text(found))
    return 0


def _run_flow(request: Request, spec: JobSpec, console: Console) -> Publication:
    from flows.forms.fitting import check_given, kinds_of
    from flows.in_process import quiet_prefect
    from flows.publish import GIVEN, Given
    from flows.publish import publish as flow
    from flows.server import lost
    from flows.server.tagged import tagged

    parameters = {
        "job_id": request.job_id,
        "to": spec.root,
        "manifest": public_manifest(spec.manifest),
        "ledger": request.ledger,
        "slots": request.slots,
        "time_zone": request.time_zone,
        "approve": request.approve,
        "run_id": request.run_id,
    }
    check_given(kinds_of(flow.fn), parameters)
    ensure_api(console.progress().say)
    quiet_prefect()
    given = Given(spec)
    token = GIVEN.set(given)
    try:
        with tagged():
            flow(**parameters, return_state=True)
    except lost.LOST as error:
        if not given.results:
            raise PrefectUnavailable(
                f"{lost.said(error)}: see {show(request.ledger, spec.root)} for what became of it"
            ) from error
        _log.warning("%s: it shows this run as still running", lost.said(error))
    finally:
        GIVEN.reset(token)
    return _value(given.results)


def _value(results: Sequence[Publication | SceneMosaicError]) -> Publication:
    if not results:
        raise SceneMosaicError("the flow ended without a result: see its run in Prefect")
    if isinstance(results[-1], SceneMosaicError):
        raise results[-1]
    return results[-1]
