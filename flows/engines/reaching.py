"""Whether anybody answers at an engine's address: asked before anything is written."""

import socket
from typing import Final

from flows.engines.engine import Engine
from scenemosaic.errors import InputError

# Of each of a name's addresses; a connection that was refused for a moment is tried twice in it.
CONNECT_S: Final = 5.0
# A busy scheduler takes its time. Dask itself would wait without end for one that says nothing.
GREETING_S: Final = 30.0
_SPEAKS_FIRST: Final = "tcp://"


class NobodyAnswers(InputError):
    """Nobody answers at an engine's address: it is wrong, or its cluster does not run."""


def check_answers(engine: Engine, greeting_s: float = GREETING_S) -> None:
    """Raise NobodyAnswers where the engine has an address, and nobody takes a connection there.

    A scheduler of Dask's without TLS must say something, too.
    """
    if engine.address is None or engine.endpoint is None:
        return
    try:
        with socket.create_connection(engine.endpoint, CONNECT_S) as connection:
            if engine.address.startswith(_SPEAKS_FIRST):
                connection.settimeout(greeting_s)
                _hear(connection)
    except (OSError, UnicodeError) as error:  # the latter is a name that no host can have
        raise NobodyAnswers(
            f"the {engine.name} cluster at {engine.address} does not answer: {_reason(error)}; "
            "start it or correct its address, without which a run starts a cluster of its own"
        ) from error


def _hear(connection: socket.socket) -> None:
    if not connection.recv(1):
        raise ConnectionError("what listens there is no scheduler")


def _reason(error: OSError | UnicodeError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
