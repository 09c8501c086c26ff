"""The soundness oracle: brute force against the inferred bounds. Shares no code with dp4sql.infer.

A random policy file and a random SQL text go through `dp4sql.explain`; the same SQL runs on neighbouring
tiny databases built from Definition 5.1; the L1 distance between the answers must stay within the bound.

    world       schemas, policies and databases as the oracle sees them; what is admissible
    worlds      random schemas and labels
    neighbours  Definition 5.1: what one entity record may change
    truncated   what queries see where the policy truncates
    databases   random databases, and small changes of them
    expressions, joins, blocks, queries   random SQL
    shapes, motifs, meetings   kinds of query that rules with many side-conditions are for
    constructs  what of SQL it must use
    engines     SQLite for volume, DuckDB to confirm
    claims      what is promised of a query, and how far two answers lie apart
    climb       the search for the farthest neighbours
    confirm     what DuckDB says, of the client's SQL and of the rendered SQL
    shrink      a violation made small and printed
    campaign    many queries, counted
    soak        campaigns on both cores, with a report
    mutations   deliberate mistakes in the rules and in rendering that the oracle must find
    mutate      a campaign for each
"""
