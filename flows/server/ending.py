"""How ``serve`` ends: its runs are cancelled in order, and killed where it is asked again."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final
from uuid import UUID

import httpx
from prefect.runner import Runner

from flows.terminal.stopping import NAMES
from scenemosaic.words import counted

WHY: Final = "serve was ended; run it again: only what is missing is done"
GRACE_S: Final = 30  # Prefect's own
# Between looks at runs that were just being started, and how long killed ones may be reported.
PAUSE_S: Final = 0.2
REPORT_S: Final = 15.0


async def serve(runner: Runner, say: Callable[[str], None]) -> None:
    """Carry out what is scheduled until a signal comes, and end in order; to be called in the
    main thread. ``say`` is told what is ended, and how."""
    asked: asyncio.Queue[int] = asyncio.Queue()
    serving = asyncio.create_task(runner.start())
    await asyncio.sleep(0)  # by now the runner has set its own handler, which knows no second one
    loop = asyncio.get_running_loop()
    with _for_this_process_alone():
        for number in NAMES:
            loop.add_signal_handler(number, asked.put_nowait, number)
        ending = asyncio.create_task(_end(runner, serving, asked, say))
        await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
        if ending.done():
            ending.result()
        with contextlib.suppress(asyncio.CancelledError):
            await serving


@contextlib.contextmanager
def _for_this_process_alone() -> Iterator[None]:
    """Keep Ctrl-C in a terminal from the runs' processes, which inherit what is blocked here.

    A thread that does nothing else takes it in for the event loop.
    """
    done = threading.Event()
    threading.Thread(target=done.wait, name="ctrl-c", daemon=True).start()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        done.set()


async def _end(
    runner: Runner,
    serving: "asyncio.Task[None]",
    asked: "asyncio.Queue[int]",
    say: Callable[[str], None],
) -> None:
    name = NAMES[await asked.get()]
    if not runner.started:
        serving.cancel()
        return
    if held := len(_held(runner)):
        say(
            f"ending {counted(held, 'run')} as Cancelled: what is in hand is finished, for "
            f"{GRACE_S} s at most; {name} again ends now"
        )
    cancelling = asyncio.create_task(_cancel_all(runner, say))
    again = asyncio.create_task(asked.get())
    await asyncio.wait({cancelling, again}, return_when=asyncio.FIRST_COMPLETED)
    if not cancelling.done():
        _kill_all(runner)
        await asyncio.wait({cancelling}, timeout=REPORT_S)
    again.cancel()
    if cancelling.done():
        cancelling.result()
        await runner.astop()
    else:
        say("Prefect was not told of the end of its runs: it shows them as Running")
        serving.cancel()


def _held(runner: Runner) -> set[UUID]:
    """The runs that have a process, and those that are about to."""
    held: set[UUID] = _poller(runner)._submitting_flow_run_ids
    return held


def _poller(runner: Runner) -> Any:
    return runner._scheduled_run_poller


async def _cancel_all(runner: Runner, say: Callable[[str], None]) -> None:
    """All runs at once; Prefect's own way takes them one after the other."""
    _poller(runner).stopping = True
    while held := tuple(_held(runner)):
        await asyncio.gather(*(_cancel(runner, one, say) for one in held))
        await asyncio.sleep(PAUSE_S)


async def _cancel(runner: Runner, run_id: UUID, say: Callable[[str], None]) -> None:
    try:
        await runner._cancel_run(run_id, WHY)
    except httpx.HTTPError as error:
        say(f"Prefect's API does not answer ({error}): run {run_id} is ended without it")
        await runner._process_manager.kill(run_id)


def _kill_all(runner: Runner) -> None:
    for run_id in tuple(_held(runner)):
        handle = runner._process_manager.get(run_id)
        if handle is not None:
            with contextlib.suppress(ProcessLookupError):
                handle.hard_kill()
