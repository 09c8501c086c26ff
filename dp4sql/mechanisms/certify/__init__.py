"""Certified statements (Takahashi and Hiraoka, "PrivCert"): a claim, the evidence for it, emit or abstain.

forms      a claim as an integer that is positive exactly where the claim holds
tails      Pr[noise >= x], between rationals
margins    p-values, lower bounds and half emission
frontier   the most that any private certifier can do
control    one level for all statements of a report
svt        sparse vector with free gap
judge      noisy integers to verdicts, by all of the above
"""
