#!/usr/bin/env python3
"""Writes tests/golden/stats-scipy.txt: what SciPy says of samples, for tests/t-stats.c.

Run with the SciPy and NumPy that the first line of the file names.  Rows, one a case: a name, numbers.
  u:    na nb a... b... U-of-b p            exact (no ties: mannwhitneyu; ties: permutation_test over all divisions)
  norm: na nb a... b... U-of-b p            mannwhitneyu, asymptotic, ties and continuity corrected
  boot: na nb a... b... low high            bootstrap, percentile, of the difference of medians
  holm: n p... adjusted...                  by Holm's definition: max over smaller p of min(1, (n - rank) p)
  tau:  n x... S variance slope p           kendalltau (asymptotic p), theilslopes
  mad:  n x... median mad                   median_abs_deviation
"""
import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(8)


def row(name, *parts):
    numbers = []
    for part in parts:
        numbers += [repr(float(x)) for x in np.atleast_1d(part)]
    print(name, *numbers)


def u_of(b, a):
    b, a = np.asarray(b)[:, None], np.asarray(a)[None, :]
    return float((b > a).sum() + (b == a).sum() / 2)


print(f"# SciPy {scipy.__version__}, NumPy {np.__version__}, tests/golden/stats-scipy.py")
for na, nb, shift in [(6, 6, 0), (6, 6, 3), (7, 9, 1), (10, 10, 1), (12, 12, 2), (20, 20, 0.7), (3, 15, 1), (1, 4, 0)]:
    a, b = np.round(rng.normal(100, 2, na), 6), np.round(rng.normal(100 + shift, 2, nb), 6)
    r = stats.mannwhitneyu(b, a, method="exact")
    row("u", na, nb, a, b, r.statistic, r.pvalue)
for na, nb, shift in [(5, 5, 0), (6, 6, 2), (4, 8, 1), (6, 7, 1), (5, 6, 9)]:
    a, b = np.round(rng.normal(10, 1.5, na)), np.round(rng.normal(10 + shift, 1.5, nb))
    r = stats.permutation_test((b, a), lambda x, y: u_of(x, y), n_resamples=np.inf)
    row("u", na, nb, a, b, u_of(b, a), r.pvalue)
for na, nb, shift, digits in [(30, 30, 0.5, 6), (21, 40, 1, 6), (50, 50, 1, 0), (25, 60, 0, 0)]:
    a, b = np.round(rng.normal(100, 2, na), digits), np.round(rng.normal(100 + shift, 2, nb), digits)
    r = stats.mannwhitneyu(b, a, method="asymptotic")
    row("norm", na, nb, a, b, r.statistic, r.pvalue)
for na, nb, shift in [(15, 15, 3), (24, 31, 1), (60, 40, 0)]:
    a, b = np.round(rng.normal(100, 2, na), 6), np.round(rng.normal(100 + shift, 2, nb), 6)
    r = stats.bootstrap((a, b), lambda x, y, axis=-1: np.median(y, axis=axis) - np.median(x, axis=axis),
                        n_resamples=99999, method="percentile", random_state=rng, vectorized=True)
    row("boot", na, nb, a, b, r.confidence_interval.low, r.confidence_interval.high)
for p in [[0.01, 0.04, 0.03, 0.005], [0.5, 0.2, 0.9], [0.02], [0.01, 0.01, 0.01, 0.9, 1.0]]:
    p = np.array(p)
    rank = stats.rankdata(p, method="ordinal") - 1
    step = np.minimum(1, (len(p) - rank) * p)
    row("holm", len(p), p, [step[rank <= r].max() for r in rank])
for n, slope, digits in [(6, 0, 6), (12, 0.5, 6), (30, 0.1, 6), (20, 0.2, 0)]:
    x = np.round(rng.normal(100, 2, n) + slope * np.arange(n), digits)
    s = sum(np.sign(x[k] - x[i]) for i in range(n) for k in range(i + 1, n))
    tau = stats.kendalltau(np.arange(n), x, method="asymptotic")
    z = stats.norm.isf(tau.pvalue / 2)
    row("tau", n, x, s, (s / z) ** 2, stats.theilslopes(x).slope, tau.pvalue)
for n in (1, 6, 11):
    x = np.round(rng.normal(100, 2, n), 6)
    row("mad", n, x, np.median(x), stats.median_abs_deviation(x))
