"""What stands before the store and can be killed: ``python -m tests.soak.front PORT UPSTREAM``.

The emulators keep their state in memory, so that the store itself cannot be killed without
losing what it has acknowledged, which no store does. SIGKILL of this process cuts every
connection wherever it is: requests half sent, or carried out and never answered.
"""

import asyncio
import contextlib
import sys

_CHUNK = 1 << 16


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    writer.close()


async def serve(port: int, upstream: int) -> None:
    """Relay every connection to ``upstream``, both on 127.0.0.1, for ever."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", upstream)
        await asyncio.gather(_pump(reader, up_writer), _pump(up_reader, writer))

    server = await asyncio.start_server(relay, "127.0.0.1", port, backlog=256)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
