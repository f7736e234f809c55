"""Events as they happen, over as many connections as it takes."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

from ._errors import CroftError, unreachable
from ._find import dial, socket_paths
from ._generated import Event
from ._model import query
from ._transport import Transport, read

# The daemon says that it is alive every 15 seconds.
_silence = 45.0
_pause = 0.05


class Parser:
    """Reads the lines of server-sent events."""

    def __init__(self) -> None:
        self.id = self.kind = ""
        self.data: list[str] = []

    def feed(self, line: str) -> tuple[str, str, str] | None:
        """Takes a line, and returns id, kind and data of a message with its last one."""
        line = line.rstrip("\r\n")
        if line == "":
            message = (self.id, self.kind, "\n".join(self.data))
            self.id, self.kind, self.data = "", "", []
            return message if message[0] or message[1] else None  # one with an id alone tells how far the stream has come
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "id":
            self.id = value
        elif field == "event":
            self.kind = value
        elif field == "data":
            self.data.append(value)
        return None


class Follower:
    """What one reader of events has seen, and what it asks for next."""

    def __init__(self, transport: Transport, fields: dict[str, Any], patience: float) -> None:
        self.transport = transport
        self.fields = fields
        self.patience = patience
        self.last = ""
        self.is_over = False
        self.has_begun = False  # the daemon has not refused this connection
        self.since = time.monotonic()  # when the daemon was last seen

    def request(self) -> tuple[str, dict[str, str]]:
        """The path and the headers of the next connection."""
        headers = {**self.transport.headers(), "Accept": "text/event-stream"}
        if self.last:
            headers["Last-Event-ID"] = self.last
        return "/v1/events?" + urlencode(query(self.fields)), headers

    def begin(self) -> None:
        """Takes note that the daemon has begun a stream."""
        self.has_begun = self.transport.has_answered = True

    def take(self, message: tuple[str, str, str]) -> Event | None:
        """Takes a message of a stream: an event, how far it has come, its end, or a failure."""
        id, kind, data = message
        if id:
            self.last = id
        if kind == "end":
            self.is_over = True
            return None
        if kind == "error":
            problem = CroftError.of(json.loads(data))
            if problem.code in ("LIMIT_REACHED", "CLOSED"):
                raise _Again from problem  # too slow, or the daemon stops: nothing is lost
            raise problem
        return Event.of(json.loads(data)) if kind else None

    def pause(self, cause: BaseException | None) -> float:
        """How long to wait for the next connection, unless the daemon was away for too long."""
        if self.has_begun:
            self.since, self.has_begun = time.monotonic(), False  # it may have been silent for long
        away = time.monotonic() - self.since
        if away >= self.patience or isinstance(cause, OSError) and not self.transport.has_answered:
            raise unreachable(self.transport.where, cause) from cause
        return _pause


class _Again(Exception):
    """The stream has ended, and goes on over another connection."""


def follow(f: Follower) -> Iterator[Event]:
    """Yields events. A connection that ends is followed by the next one."""
    while True:
        cause: BaseException | None = None
        conn = f.transport.connection()
        try:
            path, headers = f.request()
            conn.connect()
            conn.sock.settimeout(_silence)
            conn.request("GET", path, headers=headers)
            response = conn.getresponse()
            if response.status != 200:
                read(response, response.read())
            f.begin()
            parser = Parser()
            while line := response.readline():
                message = parser.feed(line.decode())
                if message is None:
                    continue
                event = f.take(message)
                if event is not None:
                    yield event
                if f.is_over:
                    return
        except (OSError, http.client.HTTPException, _Again) as e:
            cause = e
        except CroftError as e:
            if e.code != "CLOSED":
                raise
            cause = e
        finally:
            conn.close()
        time.sleep(f.pause(cause))


async def follow_async(f: Follower) -> AsyncIterator[Event]:
    """Yields events in an event loop of asyncio."""
    import asyncio  # it takes longer to import than everything else here

    while True:
        cause: BaseException | None = None
        writer = None
        try:
            reader, writer = await _open(f.transport)
            path, headers = f.request()
            lines = [f"GET {path} HTTP/1.1", f"Host: {f.transport.host}", "Connection: close", *(f"{k}: {v}" for k, v in headers.items())]
            writer.write("\r\n".join([*lines, "", ""]).encode())
            await writer.drain()
            chunks = _body(reader, f.begin)
            parser, rest = Parser(), b""
            while True:
                chunk = await asyncio.wait_for(anext(chunks, b""), _silence)
                if not chunk:
                    break
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    message = parser.feed(line.decode())
                    event = f.take(message) if message else None
                    if event is not None:
                        yield event
                    if f.is_over:
                        return
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, ValueError, _Again) as e:
            cause = e
        except CroftError as e:
            if e.code != "CLOSED":
                raise
            cause = e
        finally:
            if writer is not None:
                writer.close()
        await asyncio.sleep(f.pause(cause))


async def _open(transport: Transport) -> Any:
    import asyncio

    limit = 1 << 20
    if transport.is_local:
        sock = dial(socket_paths(transport._env), 10)
        sock.setblocking(False)
        return await asyncio.open_unix_connection(sock=sock, limit=limit)
    at = urlsplit(transport._url)
    tls = at.scheme == "https"
    return await asyncio.open_connection(at.hostname, at.port or (443 if tls else 80), ssl=tls or None, limit=limit)


async def _body(reader: Any, begin: Callable[[], None]) -> AsyncIterator[bytes]:
    """Reads the head of an answer, calls begin unless it is a refusal, and yields its body as it comes."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = int(head[0].split(" ", 2)[1])
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    chunks = _chunks(reader, headers)
    if status == 200:
        begin()
        async for chunk in chunks:
            yield chunk
        return
    data = b"".join([chunk async for chunk in chunks])
    try:
        problem = json.loads(data)
        raise CroftError.of(problem, retryable="retry-after" in headers)
    except (ValueError, KeyError, TypeError):
        raise CroftError("INTERNAL", f"the daemon answered with {status}", status=status) from None


async def _chunks(reader: Any, headers: dict[str, str]) -> AsyncIterator[bytes]:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        length = int(headers.get("content-length", "-1"))
        yield await (reader.readexactly(length) if length >= 0 else reader.read())
        return
    while size := int((await reader.readline()).split(b";")[0] or b"0", 16):
        yield await reader.readexactly(size)
        await reader.readline()
