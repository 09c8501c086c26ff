"""From a client's first bytes to a name that may ask: TLS, the startup packet, the password."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from dp4sql.catalog.service import check_role
from dp4sql.errors import (
    AuthenticationFailed,
    LoginRefused,
    ProtocolViolation,
    UndefinedDatabase,
    Unsupported,
)
from dp4sql.server.options import Tls, is_local
from dp4sql.wire import messages as m
from dp4sql.wire import replies as r
from dp4sql.wire.auth import Scram
from dp4sql.wire.connection import Connection

if TYPE_CHECKING:
    from dp4sql.server.client import Client
    from dp4sql.server.server import Server

#: Seconds that a wrong cancel request waits for its end: 400 logins at once make 400 guesses a second
#: at a secret of 32 bits.
WRONG_CANCEL: Final = 1.0


class Login:
    """One client's. `tls` is what its connection is encrypted with already, None for plain bytes."""

    def __init__(
        self, server: Server, client: Client, connection: Connection, tls: Tls | None
    ) -> None:
        self._server, self._client, self._connection = server, client, connection
        self._tls, self._direct = tls, tls is not None

    async def startup(self) -> m.Startup | None:
        """The startup packet of a client that may ask; None when it wanted no more than to cancel."""
        startup = await self._opening()
        if startup is None:
            return None
        self._check_network()
        user = startup.parameters.get("user", "")
        if not user:
            raise ProtocolViolation("no PostgreSQL user name specified in startup packet")
        check_role(user)
        await self._authenticate(user)
        database = startup.parameters.get("database") or user
        served = self._server.options.database
        if database != served:
            raise UndefinedDatabase(
                f'database "{database}" does not exist', hint=f'This proxy answers for "{served}".'
            )
        if startup.parameters.get("replication", "false") not in ("false", "off", "no", "0"):
            raise Unsupported("replication is not supported")
        return startup

    # ------------------------------------------------------------ the first packets

    async def _opening(self) -> m.Startup | None:
        if self._direct:
            chosen = self._client.transport.get_extra_info("ssl_object").selected_alpn_protocol()
            if chosen != "postgresql":
                raise ProtocolViolation("direct TLS needs the ALPN protocol postgresql")
        while True:
            match await self._client.next():
                case m.Startup() as startup:
                    return startup
                case m.CancelRequest() as request:
                    if not self._server.cancel(request):
                        await asyncio.sleep(WRONG_CANCEL)
                    return None
                case m.SslRequest() if self._server.tls and not self._tls:
                    await self._start_tls(self._server.tls)
                case m.SslRequest() | m.GssEncRequest():
                    self._client.transport.write(b"N")
                case _:
                    raise ProtocolViolation("a message came before the startup packet")

    async def _start_tls(self, tls: Tls) -> None:
        if self._connection.unread:
            # Sent before the handshake, it could be anybody's: CVE-2021-23214.
            raise ProtocolViolation("received unencrypted data after SSL request")
        self._client.pause()
        self._client.transport.write(b"S")
        loop = asyncio.get_running_loop()
        try:
            found = await loop.start_tls(
                self._client.transport, self._client, tls.context, server_side=True
            )
        except OSError as error:
            raise ProtocolViolation("the TLS handshake failed") from error
        assert found is not None
        self._client.transport, self._tls = found, tls

    def _check_network(self) -> None:
        """What the startup packet and the answers would tell others on the way."""
        wanted = self._server.options.require_tls
        if self._server.tls is None or self._tls is not None or wanted == "none":
            return
        if wanted == "all" or not self._local:
            raise LoginRefused(
                "this server takes connections with TLS alone",
                hint="Connect with sslmode=verify-full, or sslmode=require at least.",
            )

    @property
    def _local(self) -> bool:
        peer = self._client.transport.get_extra_info("peername")
        return bool(peer) and is_local(peer[0])

    # ------------------------------------------------------------ the password

    async def _authenticate(self, user: str) -> None:
        if self._server.options.trust and self._local:
            return
        if not self._server.options.users:
            raise AuthenticationFailed("this server lets in clients on its own machine alone")
        binding = self._tls.binding if self._tls else None
        scram = Scram(user, self._server.users.verifier(user), binding)
        self._connection.send(r.authentication_sasl(scram.mechanisms))
        first = scram.first(await self._answer())
        self._connection.send(r.authentication_sasl_continue(first))
        final = scram.final(await self._answer())
        self._connection.send(r.authentication_sasl_final(final))

    async def _answer(self) -> bytes:
        await self._client.drain()
        event = await self._client.next()
        if not isinstance(event, m.Password):
            raise AuthenticationFailed("the client ended the login")
        return event.payload
