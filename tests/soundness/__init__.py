"""The soundness oracle: brute force against the inferred bounds. Shares no code with dp4sql.infer.

A random policy file and a random SQL text go through `dp4sql.explain`; the same SQL runs on neighbouring
tiny databases built from Definition 5.1; the L1 distance between the answers must stay within the bound.

    world       schemas, policies and databases as the oracle sees them; what is admissible
    worlds      random schemas and labels
    neighbours  Definition 5.1: what one entity record may change
    queries     random SQL
    engines     SQLite for volume, DuckDB to confirm
    oracle      one query: claims, hill-climbing, violations
    shrink      a violation made small and printed
    soak        many queries on both cores, with a report
    mutations   deliberate mistakes in the rules that the oracle must find
"""
