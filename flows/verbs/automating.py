"""Automations of Prefect's server: what has to be done where nobody looks."""

from datetime import timedelta
from typing import Any, Final

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ActionTypes, ChangeFlowRunState, DoNothing, SendNotification
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.exceptions import ObjectNotFound

from flows.server.alive import PENDING, SILENCE_S
from flows.server.deployment_table import TAGS
from flows.shown.observed import INCOMPLETE_EVENT
from flows.watch_ledger import STALE_EVENT
from scenemosaic.errors import InputError

# A run may die between its state and its first heartbeat.
_BEGUN: Final = {"prefect.flow-run.Running", "prefect.flow-run.heartbeat"}
# A worker has taken the run; of a container it takes minutes until it begins.
_TAKEN: Final = {"prefect.flow-run.Pending", "prefect.flow-run.Submitting"}
_BODY: Final = (
    "{{ automation.name }}. {{ automation.description }}\n"
    "{{ event.event }} of {{ event.resource.id }} at {{ event.occurred }}: {{ event.payload }}"
)


def create_automations(notify: str | None = None, silence_s: int = SILENCE_S) -> dict[str, str]:
    """Make the automations, or what stands under their names like ours; what was done, by name.

    ``notify`` names a saved notification block as ``slug/name``; without one they only show in
    Prefect's event feed. ``silence_s`` is how long a run may give no sign of life: several
    times as long as between two. Raises InputError where there is no such block.
    """
    with get_client(sync_client=True) as client:
        told = _told(client, notify)
        return {one.name: _put(client, one) for one in wanted(told, silence_s)}


def wanted(told: ActionTypes, silence_s: int = SILENCE_S) -> list[AutomationCore]:
    """The automations as they have to be. ``told`` is how people hear of it."""
    return [
        AutomationCore(
            name="scenemosaic: job incomplete",
            description="A scene's run left windows undone: run it again, or repair the job.",
            trigger=_on(INCOMPLETE_EVENT, "scenemosaic.job.*"),
            actions=[told],
        ),
        AutomationCore(
            name="scenemosaic: ledger held for too long",
            description="A publisher may have died; see scenemosaic ledger show and clear.",
            trigger=_on(STALE_EVENT, "scenemosaic.ledger.*"),
            actions=[told],
        ),
        AutomationCore(
            name="scenemosaic: run without a sign of life",
            description="Its process was killed: the run is Crashed, and safe to retry.",
            trigger=_silence(_BEGUN, silence_s),
            actions=[_crashed(f"no heartbeat for {silence_s} s; what is committed stays"), told],
        ),
        AutomationCore(
            name="scenemosaic: run that never began",
            description="Its worker died as it took it: the run is Crashed, and safe to retry.",
            trigger=_silence(_TAKEN, PENDING * silence_s),
            actions=[_crashed(f"taken, and not begun for {PENDING * silence_s} s"), told],
        ),
    ]


def _crashed(message: str) -> ChangeFlowRunState:
    return ChangeFlowRunState(name="Crashed", state=StateType.CRASHED, force=False, message=message)


def _on(event: str, resource: str) -> EventTrigger:
    return EventTrigger(
        expect={event},
        match={"prefect.resource.id": resource},
        posture=Posture.Reactive,
        threshold=1,
    )


def _silence(after: set[str], silence_s: int) -> EventTrigger:
    return EventTrigger(
        after=after,
        # Any event of the run will do: final states have names of our own.
        expect={"prefect.flow-run.*"},
        match={"prefect.resource.id": "prefect.flow-run.*"},
        match_related={
            "prefect.resource.role": "tag",
            "prefect.resource.id": f"prefect.tag.{TAGS[0]}",
        },
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=silence_s),
    )


def _told(client: SyncPrefectClient, notify: str | None) -> ActionTypes:
    if notify is None:
        return DoNothing()
    slug, _, name = notify.partition("/")
    try:
        block = client.read_block_document_by_name(name, slug)
    except ObjectNotFound as error:
        raise InputError(f"Prefect holds no block {notify}; name it as slug/name") from error
    return SendNotification(block_document_id=block.id, subject="scenemosaic", body=_BODY)


def _put(client: SyncPrefectClient, automation: AutomationCore) -> str:
    """One automation of a name, on or off as it was, whoever made how many of it before."""
    found: list[Any] = list(client.read_automations_by_name(automation.name))
    for more in found[1:]:
        client.delete_automation(more.id)
    if not found:
        client.create_automation(automation)
        return "made"
    kept = automation.model_copy(update={"enabled": found[0].enabled})
    # The server begins an updated one anew: runs that are silent by now would stay so for good.
    if found[0].model_dump(exclude={"id"}) != kept.model_dump():
        client.update_automation(found[0].id, kept)
    return "as it should be"
