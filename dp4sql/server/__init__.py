"""Sockets to sessions: the one place where the wire, the catalog and the pipeline meet."""

from dp4sql.server.options import Options, Tls
from dp4sql.server.server import Server

__all__ = ["Options", "Server", "Tls"]
