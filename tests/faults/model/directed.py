"""A story for each mistake, in which it cannot stay hidden: nothing is left to chance."""

from collections.abc import Callable

from tests.faults.model.job import ENCODERS
from tests.faults.model.world import Fate, Worker, World

Story = Callable[[World], None]
STORIES: dict[str, Story] = {}
"""By the mistake's name; each ends with everything at rest."""


def _tells(*mistakes: str) -> Callable[[Story], Story]:
    def add(story: Story) -> Story:
        STORIES.update(dict.fromkeys(mistakes, story))
        return story

    return add


def _go_on_to(world: World, worker: Worker, verb: str, target: str = "") -> None:
    """Deliver the worker's calls up to the first of this kind, which stays to be made."""
    while (call := worker.call) is not None:
        if call.verb == verb and call.target.startswith(target):
            return
        world.step(worker, Fate.DELIVER)
    raise AssertionError(f"no {verb} {target} was made:\n" + "\n".join(world.history))


def _one_call_meets(world: World, fate: Fate, verb: str, target: str = "") -> Worker:
    worker = world.start("first")
    _go_on_to(world, worker, verb, target)
    world.step(worker, fate)
    return worker


def _both_stand_before(world: World, verb: str, target: str = "") -> tuple[Worker, Worker]:
    """Two runs, each about to make the same call."""
    first, second = world.start("first"), world.start("second", encoder=ENCODERS[1])
    _go_on_to(world, first, verb, target)
    _go_on_to(world, second, verb, first.call.target if first.call else target)
    return first, second


@_tells("a_row_goes_before_its_object")
def nothing_happens(world: World) -> None:
    world.settle()


@_tells("a_409_is_success")
def a_409_beside_the_tile_of_another(world: World) -> None:
    late, early = _both_stand_before(world, "put", "tiles/")
    world.step(early, Fate.DELIVER)
    world.step(late, Fate.CONFLICT)
    world.settle()


@_tells("a_409_means_that_somebody_else_wrote_it")
def a_409_beside_the_own_tile(world: World) -> None:
    worker = _one_call_meets(world, Fate.LOSE_REPLY, "put", "tiles/")
    _go_on_to(world, worker, "put", "tiles/")
    world.step(worker, Fate.CONFLICT)
    world.settle()


@_tells("ambiguous_means_written", "ambiguous_means_failed")
def a_put_never_arrives(world: World) -> None:
    _one_call_meets(world, Fate.DROP, "put", "tiles/")
    world.settle()


@_tells("an_own_write_is_reported_as_already_present", "every_attempt_has_a_write_id_of_its_own")
def the_reply_to_a_put_is_lost(world: World) -> None:
    _one_call_meets(world, Fate.LOSE_REPLY, "put", "tiles/")
    world.settle()


@_tells("ambiguous_and_absent_means_not_written")
def a_delayed_put_lands_after_a_look(world: World) -> None:
    worker = _one_call_meets(world, Fate.DELAY, "put", "tiles/")
    _go_on_to(world, worker, "put", "tiles/")
    world.land(0)
    world.settle()


@_tells(
    "looks_first_and_puts_without_a_condition",
    "the_store_ignores_conditions",
    "a_refusal_is_an_error",
    "write_ids_do_not_name_the_run",
    "rows_are_replaced",
)
def two_put_one_tile(world: World) -> None:
    for worker in _both_stand_before(world, "put", "tiles/"):
        world.step(worker, Fate.DELIVER)
    world.settle()


@_tells("the_mosaic_is_completed_without_a_condition")
def two_complete_the_mosaic(world: World) -> None:
    for worker in _both_stand_before(world, "compose"):
        world.step(worker, Fate.DELIVER)
    world.settle()


@_tells("the_read_back_is_skipped", "a_row_describes_what_was_computed", "a_listing_is_trusted")
def a_writer_dies_before_its_row(world: World) -> None:
    _one_call_meets(world, Fate.DIE_AFTER, "put", "tiles/")
    world.start("second", encoder=ENCODERS[1])
    world.settle()


@_tells("only_a_lost_race_is_compared")
def a_task_dies_before_its_row_and_is_tried_again(world: World) -> None:
    worker = _one_call_meets(world, Fate.DIE_AFTER, "put", "tiles/")
    world.start(worker.run.run_id, encoder=ENCODERS[1])
    world.settle()


@_tells("a_lost_reply_to_an_insert_means_inserted")
def a_row_never_arrives(world: World) -> None:
    _one_call_meets(world, Fate.DROP, "insert", "0")
    world.settle()


@_tells("nobody_ends_an_upload_that_no_claim_knows")
def a_worker_dies_as_its_upload_begins(world: World) -> None:
    world.go_through_s3()
    _one_call_meets(world, Fate.DIE_AFTER, "begin")
    world.settle()


@_tells("a_refused_upload_is_not_aborted")
def an_upload_is_refused(world: World) -> None:
    world.go_through_s3()
    _one_call_meets(world, Fate.CONFLICT, "compose")
    world.settle()
