"""Scalar expressions over the table `edges`, and the rows that make them difficult."""

from __future__ import annotations

from typing import Final

COLUMNS: Final = {
    "k": "integer",
    "i": "integer",
    "j": "integer",
    "s": "smallint",
    "b": "bigint",
    "n": "numeric(15,2)",
    "m": "numeric(15,2)",
    "d": "double precision",
    "e": "double precision",
    "r": "real",
    "f": "boolean",
    "g": "boolean",
    "t": "text",
    "w": "text",
    "v": "varchar(10)",
    "c": "char(5)",
    "day": "date",
    "day2": "date",
    "ts": "timestamp",
    "tz": "timestamptz",
    "u": "uuid",
}

ROWS: Final = r"""
(1, 7, 2, 3, 9000000000, 12.35, 2.50, 0.5, 2.0, 0.1, true, false, 'Hello World', 'o', 'abc', 'ab',
 '1996-02-29', '1995-12-31', '1996-02-29 13:45:59.123456', '1996-02-29 13:45:59+00',
 '00000000-0000-0000-0000-000000000001'),
(2, -7, 2, -3, -9000000000, -12.35, 0.00, -0.5, 0.0, -1.5, false, false, '  pad  ', '', '', '',
 '1992-01-01', '1992-01-01', '1992-01-01 00:00:00', '1991-12-31 23:59:59.999+00',
 '123e4567-e89b-12d3-a456-426614174000'),
(3, 0, 0, 0, 0, 0.00, -1.00, 0, -3.5, 0, NULL, true, '', 'x', 'ABC', 'abcde',
 '2000-12-31', '2001-01-01', '2000-12-31 23:59:59', '2000-06-15 12:00:00+00', NULL),
(4, 2147483647, 2147483647, 32767, 9223372036854775807, 9999999999999.99, 9999999999999.99, 1e300,
 1e300, 3e38, true, NULL, '42', '4', '12', '12',
 '1970-01-01', '2038-01-19', '1970-01-01 00:00:00', '2038-01-19 03:14:07+00', NULL),
(5, -2147483648, -1, -32768, -9223372036854775808, -9999999999999.99, 0.01, -1e300, 1e-300, -3e38,
 false, true, '-7.5', '%', 'a_b', 'a',
 '0001-01-01', '9999-12-31', '0001-01-01 00:00:00', '1900-01-01 00:00:00+00', NULL),
(6, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
 NULL, NULL, NULL, NULL, NULL),
(7, 5, -3, 5, 5, 0.05, 3.00, 2.5, 0.5, 2.5, true, true, 'été Strase', 'é', 'été', 'é',
 '2024-12-30', '2024-12-30', '2024-12-30 05:06:07.5', '2024-12-30 00:00:00+00', NULL),
(8, -5, 3, -5, -5, -0.05, 7.00, -2.5, -0.5, -2.5, false, false, 'a%b_c\d', '_', 'tRUE', 'x',
 '2021-01-03', '2021-01-04', '2021-01-03 12:30:00', '2021-01-03 12:30:00+00', NULL),
(9, 10, 4, 1, 1, 2.50, 1.00, 'NaN', 1, 'NaN', true, false, 'x y-z''w q2r', 'q', '1e3', 'y',
 '2023-03-05', '2023-03-06', '2023-03-05 00:00:00', '2023-03-05 00:00:00+00', NULL),
(10, 1, 1, 1, 1, 0.50, 1.00, 'Infinity', '-Infinity', 'Infinity', true, false, ' 17 ', ' ', 'yes',
 'z', '2023-05-05', '2023-03-06', '2023-03-05 00:00:00', '2023-03-05 00:00:00+00', NULL),
(11, 1, 1, 1, 1, 1.50, 1.00, -0.0, 3.5, 1.25, true, false, 'ÀÉ é', 'É', 'no', 'z',
 '2023-05-05', '2023-03-06', '2023-03-05 00:00:00', '2023-03-05 00:00:00+00', NULL)
"""

#: Postgres's own value, to 15 digits; NULL where Postgres raises an error.
EXACT: Final = r"""
i % j | +i | n + m | n - m | n * m | n / m | n % m | -n | abs(n) | n / j | i / 2 | i / 2.0 | n / 3 | 7 / i
n * n * n | b + n | i + 1.5 | 0.1 + 0.2 | 5 / 2 | -5 / 2 | -5 % 3 | 5.0 / 2 | 1.0 / 3 | 1e3 + 1 | mod(i, j)
i::bigint * j | i::bigint + b / 2 | i::numeric / 7 | i::numeric * m | 1 / 0 | 1 / i | 7 % 0
round(d) | round(n) | round(n, 1) | round(n, -1) | round(i) | round(r) | floor(d) | floor(n) | ceil(d)
ceiling(n) | trunc(n) | trunc(d) | sign(i) | sign(n) | floor(i) | ceil(i) | abs(d) | abs(r) | -d
round(n / m, 2) | round(i, 1) | round(d::numeric, 2) | round(n * 0.1, 2) | abs(i::bigint)
sqrt(d) | sqrt(n) | sqrt(i) | ln(n) | ln(i) | sqrt(-1) | ln(0) | exp(m / 100) | power(m / 1000, 2)
power(j / 10000000.0, 3) | power(i, 0) | 2 ^ 10
i = j | i <> j | i < j | d = e | d > 0 | d < e | r = 0.1 | d <> d | n = m | t = w | t < w | c = 'ab'
c = 'ab   ' | v = c | t = c | v < t | c || 'x' | f = g | f < g | day < day2 | day = ts | ts = tz | ts < tz
day < tz | u = '00000000-0000-0000-0000-000000000001' | i = n | i = d | n = d | b = i | s = i | r = d | r < n
i = 7 or f | f and g | not f | f is true | f is not true | f is false | f is null | f is not null | i is null
f is not false | i is distinct from j | t is not distinct from w | i is not distinct from NULL | r is distinct from d
i between 0 and 7 | i not between j and 5 | day between '1990-01-01' and '2000-12-31' | t between 'a' and 'z'
i in (7, 5) | i not in (7, NULL) | t in ('42', '') | n in (12.35, 0) | day in ('1970-01-01') | i in (j, 7)
c = 'abcdef' | c <> 'abcdefg' | c in ('abcdef', 'abcde') | v = 'abcabcabcabc' | coalesce(c, 'nothing at all')
case when f then c else 'something long' end | greatest(v, 'abcdefghijklmno') | nullif(c, 'abcdef') | n = '12.345'
n in ('12.349', '0.05') | n < '99999999999999999999' | coalesce(n, '1.2345') | c between 'abcdea' and 'abcdez'
c in ('ab') | r in (1.25, 2.5) | c in ('ab   ')
t like '%o%' | t like 'H_llo%' | t like 'a\%b%' | t ilike '%WORLD' | t not like '%o%' | t like '' | t like '%'
c like 'ab' | c like 'ab%' | v like 'A%' | t not ilike 'h%' | t ilike 'ÉTÉ%' | t like '_' | t like '%\\%'
coalesce(i, j, 0) | coalesce(t, 'none') | coalesce(n, 0) | coalesce(n, i) | coalesce(d, 0)
coalesce(day, '2000-01-01') | coalesce(c, 'q') | nullif(i, 7) | nullif(t, '') | nullif(n, 0) | nullif(d, 0)
greatest(i, j) | least(i, j) | greatest(n, m, 0) | least(d, e) | greatest(t, w) | least(day, day2)
greatest(c, 'b') | greatest(d, 0)
case when i > 0 then 'pos' when i < 0 then 'neg' else 'zero' end | case i when 7 then 1 when 5 then 2.5 end
case when f then i else n end | case when f then i else d end | case t when '42' then 'x' end
case when i > 0 then c else 'zz' end | case when f then day end
t || w | t || i | i || t | t || NULL | c || c | v || c | t || n | t || f | t || day | n * m || t
lower(t) | upper(t) | length(t) | char_length(t) | character_length(t) | length(c) | length(v) | reverse(t)
lower(c) | upper(v) | reverse(c) | reverse(concat(t, 'éx🇩🇪'))
substring(t from 2 for 3) | substring(t, 2) | substr(t, 2, 2) | substring(t from 0 for 3)
substring(t from -2 for 5) | substring(t, i) | substring(c from 1 for 2) | substring(t from 1 for 0)
substring(t from j for 2) | substring(v from 2) | substring(c, 3) | substr(t, -3)
trim(t) | ltrim(t) | rtrim(t) | btrim(t) | trim(both 'x' from t) | trim(leading ' ' from t)
trim(trailing 'd' from t) | trim(c) | ltrim(t, 'H ') | rtrim(c) | trim(t, w)
left(t, 2) | right(t, 2) | left(t, -2) | right(t, -2) | left(t, i) | right(t, j) | left(c, 4) | left(t, 0)
right(t, 0) | right(c, 2) | replace(t, 'o', '0') | replace(t, w, '') | replace(t, '', 'x')
replace(c, ' ', '.') | position('o' in t) | strpos(t, w) | position(w in t) | strpos(t, '')
starts_with(t, 'He') | starts_with(t, w) | starts_with(c, 'ab ') | concat(t, w) | concat(t, i, NULL)
concat(t, f) | concat(day)
extract(year from day) | extract(month from day) | extract(day from day) | extract(dow from day)
extract(isodow from day) | extract(doy from day) | extract(week from day) | extract(quarter from day)
extract(epoch from day) | extract(year from ts) | extract(hour from ts) | extract(minute from ts)
extract(second from ts) | extract(epoch from ts) | extract(year from tz) | extract(hour from tz)
date_trunc('year', ts) | date_trunc('month', ts) | date_trunc('day', ts) | date_trunc('week', ts)
date_trunc('quarter', ts) | date_trunc('hour', ts) | date_trunc('minute', ts) | date_trunc('second', ts)
date_trunc('month', tz)
to_char(day, 'YYYY-MM') | to_char(ts, 'YYYY-MM-DD HH24:MI:SS') | to_char(day, 'YYYYMMDD HH24')
split_part(t, ' ', 1) | split_part(t, ' ', 2) | split_part(t, ' ', -1) | split_part(t, 'l', 3)
split_part(t, 'll', 2)
split_part(c, 'b', 1) | concat_ws('-', t, w) | concat_ws(', ', t, i, NULL, f)
concat_ws(t, w, v) | concat_ws('', t, w) | lpad(t, 8, '*') | rpad(t, 8) | lpad(t, 12, 'xyz')
lpad(i::text, 5, '0') | rpad(t, 3, 'é') | lpad(t, 0, 'x') | rpad(t, -1, 'x') | lpad(t, 4, '') | lpad(v, 6)
rpad(c, 7, '.')
translate(t, 'lo', '01') | translate(t, 'aeiouaé', 'AEIOUX') | translate(t, '', 'x') | translate(t, 'Helo', '')
translate(t, 'ab', 'xyz') | ascii(t) | ascii(w) | ascii(c) | chr(65) | chr(233) | repeat('ab', 3) | repeat('a', -1)
t like 'a!%%' escape '!' | t like 'a\%' escape '' | t not like '%!_%' escape '!' | t ilike 'A!%B%' escape '!'
t like '%\' escape '!'
t ~ '^H' | t ~ 'o' | t ~ 'ld$' | t ~* 'WORLD' | t !~ 'l' | t !~* 'h' | t ~ '^[0-9]+$' | t ~ '[^a-z ]'
t ~ '^-?\d+(\.\d+)?$'
t ~ '(H|a).*(d|\\d)$' | t ~ '^.{2,5}$' | t ~ '^ *$' | t ~ 'a%b_c\\' | t ~ 'é' | t ~* '[a-f]{2}' | t ~ '[.-]'
t ~ 'x?y+z*'
t ~ '^(?:Hello|été) ' | t ~ '^$|^4' | c ~ 'b ' | v ~ '^A' | t similar to 'H%' | t similar to '(H|4)_%'
t similar to '%o'
t similar to '[a-z]%' | t not similar to '%(l|t)+%' | t similar to '-_.5' | v similar to 'a_b|abc'
t similar to '%\%%'
(i, j) = (7, 2) | (i, j) <> (7, 2) | (i, j) < (7, 3) | (i, j) >= (5, j) | (i, t) in ((7, 'Hello World'), (1, 'x'))
(i, j) not in ((7, 2), (1, NULL)) | row(i, n) > row(5, 0.05) | (i, j, s) <= (7, 2, 3) | i in (values (7), (5), (NULL))
(day, day2) overlaps ('1996-01-01', '2000-01-01') | (day, day2) overlaps (day, interval '1 month')
(ts, tz) overlaps (day, day2) | not ((day, NULL) overlaps (day2, day)) | (day, day) overlaps (day, day)
i between symmetric 7 and 0 | i not between symmetric j and 0 | day between symmetric '2000-01-01' and day2
f is unknown | g is not unknown | (i > 3) is true | (i > j) is not false
trunc(n, 1) | trunc(n, -1) | trunc(m, 5) | trunc(i, -1) | trunc(n, -15) | trunc(n * m, 2) | log(m / 100) | log(i)
log10(abs(m)) | log(2, abs(n))
log(i, 100) | div(i, 2) | div(b, 7) | div(i, j) | pi() * 2
extract(isoyear from day) | extract(isoyear from ts) | extract(weeks from day)
make_date(2020, 2, 29) | make_date(2023, j, 29) | make_date(1995 + j, 2, i) | make_date(i, 1, 1)
make_date(1900, 2, 22 + i)
extract(epoch from ts - tz) | extract(day from ts - tz) | extract(day from tz - ts) | extract(epoch from ts - day)
extract(epoch from ts - '2000-01-01') | ts - tz > interval '1 day' | tz - ts <= interval '90 minutes'
ts - day = ts - day
extract(year from age(day, day2)) | extract(month from age(day, day2)) | extract(year from age(ts, tz))
extract(month from age(tz, ts)) | extract(year from age('2024-02-29', day))
extract(month from age('2024-02-29', day))
day + i * interval '1 day' | day - j * interval '7 days' | day + interval '1 day' * 3
day + (interval '1 month' + interval '1 day')
ts - 2 * interval '1 hour' | day + -interval '1 day' | tz at time zone 'UTC' | ts at time zone 'UTC'
day at time zone 'UTC'
timestamptz '2024-07-01 12:00:00+00' at time zone 'Europe/Berlin'
timestamp '2024-07-01 12:00:00' at time zone 'Europe/Berlin'
date(ts) | to_date('31.12.1999', 'DD.MM.YYYY') | date_trunc('quarter', timestamp '1999-05-17 10:00:00')
extract(week from date '2021-01-03')
date_trunc('week', timestamp '2021-01-03 12:00:00') | extract(isodow from timestamp '2021-01-03 12:00:00')
date_trunc('hour', timestamptz '2021-01-03 12:34:56+02') | extract(doy from date '2024-12-31')
to_char(day, 'Mon YYYY') | to_char(ts, 'MON') | to_char(day, 'Month|') | to_char(day, 'FMmonth DD')
to_char(day, 'IYYY-IW') | to_char(day, 'yyyy-"MM" "Day"dd') | to_char(day, '"W"iw 100%')
date '2024-07-01' at time zone 'Europe/Berlin'
to_char(day, 'Day, DD') | to_char(ts, 'dy') | to_char(day, 'D ID')
to_char(tz, 'FMDAY DY') | to_char(day, 'FMDD FMMonth FMYYYY') | to_char(ts, 'FMHH24:FMMI')
to_char(day2, 'day|FMday|Dy')
E'a\nb\\d\'\u0041\101\8' || t | 'a\nb' || t
timestamp '2024-07-01 12:00:00'::date | timestamp with time zone '2024-07-01 12:00:00+00'::date
timestamptz '2024-07-01 12:00:00+00' + interval '1 day' | date '2024-07-01'::timestamp | numeric '1.5'::int
to_char(tz, 'YY/MM DDD') | to_char(day, 'YYYY-"Q"Q') | extract(year from day)::text
extract(quarter from ts) || '. quarter'
extract(year from day)::varchar(2) || '-Q' || extract(dow from day)::text | extract(isoyear from tz)::text
width_bucket(i, 0, 100, 7) | width_bucket(i, -10, 5, 3) | width_bucket(n, -10, 50.5, 4) | width_bucket(j, 2, 3, 1)
width_bucket(d, -1, 2.5, 7) | width_bucket(s, -3, 4, 7)
width_bucket(i, ARRAY[0, 7, 100]) | width_bucket(n, ARRAY[-1, 12.35])
day + 1 | day - 1 | day + i | 1 + day | day - day2 | day + interval '1 month' | day + interval '1 day'
ts + interval '90 minutes' | tz + interval '1 day' | day + interval '3' month | day + s | day - i
day + interval '1 month 2 days' | day2 + 1 | ts::date + 1 | '2000-01-01'::date + 5
date '2000-01-01' - date '1999-01-01' | day - interval '1 year' | ts - interval '1 month'
day2 + interval '1 day' | ts + interval '-1 month'
i::bigint | i::smallint | b::integer | i::numeric | b::numeric | i::numeric(5,2) | i::double precision | i::real
i::text | b::text | n::integer | n::bigint | n::numeric(5,1) | n::numeric | n::double precision | n::text
d::integer | d::bigint | r::double precision | r::integer | d::smallint | n::real | n::smallint
t::integer | t::numeric | t::double precision | t::boolean | t::varchar(3) | t::bigint | v::boolean | v::text
c::text | c::varchar | v::integer | v::double precision | t::numeric(4,1) | v::real | t::char(3) | v::char(2)
f::integer | f::text | i::boolean | f::varchar | day::timestamp | day::text | day::timestamptz | ts::date
ts::text | tz::date | tz::timestamp | ts::timestamptz | tz::text | u::text | day::varchar(4)
cast(i as text) | i::varchar(2) | '7'::integer | 'abcdef'::varchar(3) | '2.567'::numeric(5,1)
true and f | null::int + i | i + null
"""

#: NULL too where a result or an operand is NaN, infinite, or near the ends of double precision.
DOUBLE: Final = r"""
d + e | d - e | d * e | d / e | r + r | r * r | d + n | d * i | r + d | d / 2 | e / 0 | r / r | d * 2 | r * 2
d * n - e | sqrt(d * d) | exp(d) | exp(n) | exp(i) | ln(d) | power(d, 2) | power(d, e) | power(i, 2) | d ^ 2
power(2, i) | d::numeric | d::numeric(10,2) | d::real | power(n, 2) | d * d * 0.5 + 1
"""

#: Errors in Postgres on rows whose result is too large for its type; as a result they are refused.
TOO_LARGE: Final = r"""
i + j | i * j | i / j | -i | abs(i) | s + s | s * s | b + b | b * b | b / j | -b | abs(b)
i * 1000000 * 1000000
"""

#: The same of constants alone, which no row and no wider type around them changes.
TOO_LARGE_CONSTANTS: Final = r"""
2147483647 + 1 | (2147483647 + 1)::numeric | 9223372036854775807 + 1 | -(-9223372036854775807 - 1)
'32767'::smallint * '32767'::smallint | i + 65536 * 65536 | 9223372036854775807 * 9223372036854775807 * 2
"""

#: Not known, or not the same on every engine.
REFUSED: Final = r"""
random() | clock_timestamp() | current_time | now() - ts | to_char(day, 'dAy') | to_char(day, 'SSSS')
to_char(day, 'DDth') | to_char(n, '999')
to_char(day, 'mOn') | extract(epoch from ts)::text | t ~ w | t ~ 'a{2}{3}' | t ~ '\w' | t ~ '(a' | t like w
initcap(t)
split_part(t, w, 1) | split_part(t, ' ', 0) | split_part(t, '', 1) | lpad(t, i) | lpad(t, 100000, 'x')
repeat(t, 3) | translate(t, w, 'x')
substring(t from 'o.*') | regexp_replace(t, 'o', 'x') | chr(i) | chr(0) | ts - tz | age(day, day2)
age(day, day2) > interval '1 year' | i * interval '1 day'
day + i * interval '1 month'
ts + i * interval '1 day' | extract(hour from ts - tz) | to_date(t, 'YYYY') | make_date(2023, 2, 29)
ts at time zone 'Europe/Berlin'
(i, j) = 7 | (i, j) = (1, 2, 3) | i = (1, 2) | trunc(d, 1) | trunc(n / 3, 1) | t like 'a!' escape '!' | (ts - tz) / 2
d::text | r::text | concat(d, 'x') | n / m || t | ts::timestamp(0) | extract(hour from day) | round(d, 2)
date_trunc('century', ts) | i & j | ~i | t collate "C"
date '9999-12-31' + interval '1 year' | date '0001-01-01' - 1 | date '9999-12-31' + 1000000000000
md5(t) | ts - ts | d % e | '1e400'::double precision | '70000'::smallint | 1e2000 + n
"""


def listed(text: str) -> list[str]:
    """Expressions of a table above; `||` belongs to an expression."""
    parts = text.replace("||", "\0").replace("\n", " | ").split(" | ")
    return [part.replace("\0", "||").strip() for part in parts if part.strip()]
