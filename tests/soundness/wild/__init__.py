"""The whole pipeline on neighbours with values that no policy expects.

`world` has tables, policies, databases and their neighbours, `values` what rows are made of, `expressions`,
`aggregates` and `queries` the SQL, `engines` DuckDB and Postgres, `channel` takes the noise out, `oracle` compares
neighbours and engines, and `campaign` runs all of it and counts.
"""
