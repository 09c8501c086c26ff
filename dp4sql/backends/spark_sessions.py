"""Spark's sessions: opened, with the settings and views that rendered SQL relies on, and ended."""

from __future__ import annotations

import logging
from typing import Any, Final
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from dp4sql.errors import EngineError

log = logging.getLogger(__name__)

#: What rendered SQL relies on: text as it is written, time without zones, errors where numbers overflow.
SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.runSQLOnFiles": "false",
    # Or ${env:NAME} in a text would be what the server has under that name.
    "spark.sql.variable.substitute": "false",
}
LOCAL: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
}
#: A Connect server takes one interrupt a query. What adaptive execution submits on other threads after that
#: one would run on with nobody to stop it.
REMOTE: Final = {"spark.sql.adaptive.enabled": "false"}
RETRIES: Final = 4
"""Waits for a Connect server that is not there: some five seconds. Spark's own would take ten minutes."""
#: Or a channel remembers for minutes, from one session to the next, that the server was not there.
CHANNEL: Final = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_reconnect_backoff_ms", 1000)]
#: Spark's names of types as information_schema would have them.
NAMES: Final = {
    "int": "integer",
    "string": "text",
    "timestamp_ntz": "timestamp",
    "timestamp": "timestamp with time zone",
}


def started(url: str, parameters: str, files: dict[str, str]) -> Any:
    """A session at `url` in which `files`, names and places of parquet tables, can be read. EngineError
    where there is no Spark."""
    session = None
    try:
        session = _session(url, parameters)
        _prepare(session, files)
    except Exception as error:
        log.error("cannot start Spark: %s", error)
        if session is not None and remote(session):
            closed(session)
        raise _unreachable(url) from None
    return session


def _unreachable(url: str) -> EngineError:
    parsed = urlsplit(url)
    if not parsed.netloc:
        return EngineError(
            "Spark cannot be started",
            hint="It needs Java 17 or later on this machine, and parquet files it can read. "
            "The log says more.",
        )
    kind = "Spark Connect server" if parsed.scheme == "sc" else "Spark master"
    where = f"{parsed.hostname}:{parsed.port}" if parsed.port else parsed.hostname
    return EngineError(
        f"the {kind} {where} cannot be reached",
        hint="Check host, port and token in the URL, and that it sees the same folder. The log says more.",
    )


def _prepare(session: Any, files: dict[str, str]) -> None:
    for name, value in (SETTINGS | (REMOTE if remote(session) else {})).items():
        session.conf.set(name, value)
    for name, place in files.items():
        session.read.parquet(place).createOrReplaceTempView(name)
    _describe(session)


def _session(url: str, parameters: str) -> Any:
    parsed = urlsplit(url)
    if parsed.scheme == "sc":
        return _connected(f"sc://{parsed.netloc}/;{parameters}")
    builder = SparkSession.builder.appName("dp4sql")
    builder = builder.master(f"spark://{parsed.netloc}" if parsed.netloc else "local[*]")
    for name, value in LOCAL.items():
        builder = builder.config(name, value)
    # Views and settings of its own, whoever else uses Spark in this process.
    return builder.getOrCreate().newSession()


def _connected(url: str) -> Any:
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    channel = DefaultChannelBuilder(url, CHANNEL)
    session = RemoteSession.builder.channelBuilder(channel).create()
    session.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])
    return session


def _describe(session: Any) -> None:
    """A view with what information_schema.columns holds elsewhere."""
    rows = []
    for table in session.catalog.listTables():
        for i, column in enumerate(session.table(f"`{table.name}`").schema.fields):
            type = column.dataType.simpleString()
            null = "YES" if column.nullable else "NO"
            name = NAMES.get(type, type)
            rows.append(("public", table.name, column.name, name, null, None, None, i))
    shape = (
        "table_schema string, table_name string, column_name string, data_type string, "
        "is_nullable string, numeric_precision int, numeric_scale int, ordinal_position int"
    )
    session.createDataFrame(rows, shape).createOrReplaceTempView("dp4sql_columns")


def closed(session: Any) -> None:
    try:
        session.release_session_on_close = False  # whoever is not there cannot let go of it
        session.stop()
    except Exception as error:
        log.warning("a session of Spark was not closed: %s", error)


def remote(session: Any) -> bool:
    return not isinstance(session, SparkSession)
