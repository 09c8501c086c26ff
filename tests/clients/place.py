"""Where to connect, and what every client has to get back."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """A server with TLS and SCRAM. `root` is the certificate to check its own against."""

    host: str
    port: int
    database: str
    user: str
    password: str
    root: Path

    @property
    def libpq(self) -> str:
        return (
            f"host={self.host} port={self.port} dbname={self.database} user={self.user} "
            f"password={self.password} sslmode=verify-full sslrootcert={self.root} connect_timeout=60"
        )

    @property
    def url(self) -> str:
        """Without a driver's name and without TLS options, which drivers spell differently."""
        return f"{self.user}:{self.password}@{self.host}:{self.port}/{self.database}"


#: A query over private rows; on a Postgres with the same data it is exact.
MAJORS = "SELECT major, count(*) AS n FROM student GROUP BY major ORDER BY major"
NAMES = ["Biology", "CS", "Chemistry", "Economics", "History", "Math", "Philosophy", "Physics"]

#: Column name, SQL and value of each type.
VALUES: dict[str, tuple[str, object]] = {
    "truth": ("true", True),
    "small": ("7::int2", 7),
    "whole": ("-70000", -70000),
    "big": ("9007199254740993", 9007199254740993),
    "exact": ("12.50::numeric(10, 2)", Decimal("12.50")),
    "single": ("0.5::float4", 0.5),
    "double": ("0.1::float8", 0.1),
    "word": ("'hé'::text", "hé"),
    "short": ("'abc'::varchar(5)", "abc"),
    "padded": ("'ab'::char(4)", "ab  "),
    "day": ("date '2024-02-29'", dt.date(2024, 2, 29)),
    "moment": ("timestamp '2024-02-29 01:02:03.5'", dt.datetime(2024, 2, 29, 1, 2, 3, 500000)),
    "instant": (
        "timestamptz '2024-02-29 01:02:03+00'",
        dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=dt.UTC),
    ),
    "span": ("'1 day 02:00'::interval", dt.timedelta(days=1, hours=2)),
    "id": ("'00000000-0000-0000-0000-000000000001'::uuid", uuid.UUID(int=1)),
    "nothing": ("null::int", None),
}
ALL_TYPES = "SELECT " + ", ".join(f"{sql} AS {name}" for name, (sql, _) in VALUES.items())

#: Once from the empty Postgres, and once as dp4sql itself writes what is released.
ALL_RELEASED = f"{ALL_TYPES} FROM (SELECT count(*) AS n FROM student) AS counted"
#: As psql prints them.
SHOWN = [
    "t", "7", "-70000", "9007199254740993", "12.50", "0.5", "0.1", "hé", "abc", "ab  ", "2024-02-29",
    "2024-02-29 01:02:03.5", "2024-02-29 01:02:03+00", "1 day 02:00:00",
    "00000000-0000-0000-0000-000000000001", "",
]  # fmt: skip

TYPES: dict[str, str] = {
    "truth": "boolean", "small": "int2", "whole": "int", "big": "int8", "exact": "numeric(10, 2)",
    "single": "float4", "double": "float8", "word": "text", "short": "varchar(5)",
    "padded": "char(4)", "day": "date", "moment": "timestamp", "instant": "timestamptz",
    "span": "interval", "id": "uuid", "nothing": "int",
}  # fmt: skip

#: Conditions on private rows with one parameter each, and a value that makes them true for over 500 of
#: the 1,000 students: noise is far less than that.
PARAMETERS: dict[str, tuple[str, object]] = {
    name: (f"CAST({{}} AS {TYPES[name]}) {'=' if value is not None else 'IS'} {sql}", value)
    for name, (sql, value) in VALUES.items()
} | {"column": ("uid > {}", 10), "domain": ("major <> {}", "CS")}
PARAMETERS["nothing"] = ("CAST({} AS int) IS NULL", None)


#: Conditions on private rows with an array each, true for over 500 students.
ARRAYS: dict[str, tuple[str, list[object]]] = {
    "text": ("major = ANY({})", NAMES),
    "none of": ("major <> ALL({})", ["CS", "Law"]),
    "integer": ("uid = ANY({})", list(range(1, 2000))),
    "cast": ("uid = ANY({}::bigint[])", list(range(1, 2000))),
    "with null": ("uid < ANY({})", [None, 5000]),
    "date": ("date '2024-02-29' = ANY({})", [dt.date(2024, 2, 29), dt.date(2024, 3, 1)]),
    "numeric": ("12.5::numeric = ANY({}::numeric[])", [Decimal("12.50"), Decimal(1)]),
    "instant": (
        "timestamptz '2024-02-29 01:02:03+00' = ANY({}::timestamptz[])",
        [dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=dt.UTC)],
    ),
    "uuid": ("'00000000-0000-0000-0000-000000000001'::uuid = ANY({})", [uuid.UUID(int=1)]),
    "empty": ("NOT uid = ANY({}::int[])", []),
    "quoted": ("major || ', \"x\"\\ ' = ANY({}::text[])", [f'{name}, "x"\\ ' for name in NAMES]),
}


def among(kind: str, placeholder: str) -> str:
    return f"SELECT count(*) FROM student WHERE {ARRAYS[kind][0].format(placeholder)}"


def counting(kind: str, placeholder: str) -> str:
    return f"SELECT count(*) FROM student WHERE {PARAMETERS[kind][0].format(placeholder)}"
