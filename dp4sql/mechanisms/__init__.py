"""What a statement releases, at which price, and how: from algebra to noisy rows.

Planning     plan, the way in; stages: the parts of a plan; measure: what an aggregate needs measured; placing: where to
             release; sharing: sums from sums that are there; single. No data, no randomness
Bins         bins: the public rows of a GROUP BY; origin: what columns are in terms of the tables below them
Price        stages; split, target: how epsilon is shared; accounting, exponential: losses that others add up
Reading      reading: the SQL of a release; ranks: what MIN, MAX and percentiles choose among
Release      release: noise on exact integers; fitting: what is shown of them
Kept         kept: releases that are shown again, and what follows from them
Telling      explain, notices, gathered; lineage, simulate, replicas: how far off an answer may be
Functions    functions, calls, arguments: those in FROM; certify, profile: what they do
"""
