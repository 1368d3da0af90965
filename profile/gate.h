/* profile/gate.h -- the rule of `parprof gate`: two programs that run by turns, looked at while they do, until one look says
 * what they are.
 *
 * A run is one number, the median of its steps; the k-th runs of both are a pair, d its difference new - base.  The order is
 * A B B A, B A A B, and so on: within four runs a linear drift adds as much to one difference as it takes from the other, over
 * eight a quadratic one, too.  Drift so widens the differences but does not move their centre, which is what is judged; and what
 * lasts longer than two runs (another program beside, heat) is in both numbers of a pair alike.
 *
 * Verdicts fall at looks only, after 6, 8, 12, 16, 24, ... 128 pairs, whose number does not depend on what was measured.  With
 * the shift, the Hodges-Lehmann centre of the d, and T the threshold:
 * SLOWER     the chance of signed ranks as large (Wilcoxon, exact), with equal programs, is at most the look's alpha; shift > T.
 * FASTER     likewise, the other way.
 * SAME       the interval of the shift that errs on each side with the look's beta at most lies within -T and T.
 * AMBIGUOUS  else: more pairs are needed.
 * With fewer than 6 pairs, or of runs that cannot be compared, INCOMPARABLE.
 *
 * Errors.  Each look spends a part of what may go wrong in all (Lan and DeMets, Discrete Sequential Boundaries for Clinical
 * Trials, 1983), and by Boole's inequality the looks together err at most by the sum, however they depend on each other:
 * equal programs are called SLOWER with a chance of at most GATE_FALSE, and FASTER with as much; programs that are apart by T or
 * more are called SAME with at most GATE_MISSED.  No shape of the noise is assumed, but that a d is as likely with the other sign
 * (if the programs are equal, exchanging the two runs of a pair changes nothing) and that pairs are independent.  As shift > T is
 * asked too, false alarms are far fewer; tests/t-gate.c counts them.
 */
#ifndef PROFILE_GATE_H
#define PROFILE_GATE_H

#include "profile/verdict.h"

#define GATE_FALSE  0.009
#define GATE_MISSED 0.049

struct gate_look {
    uint32_t pairs;
    double alpha, beta; /* one-sided; of 6 pairs the signs alone come out alike with 1/64, of 8 with 1/256 */
};
#define GATE_LOOKS 10
extern const struct gate_look gate_looks[GATE_LOOKS];

/* The first look after more than so many pairs; NULL: there is none. */
const struct gate_look *gate_next_look(uint32_t pairs);
/* Whether NEW runs first in the k-th pair, from 0. */
bool gate_new_first(uint32_t pair);

/* Judges the last look that both sides have the pairs for.  Each side has one run, whose METRIC_STEP samples are a run each.
 * relative: the threshold, of base's median; negative: that of the table.  What is measured after that look is not looked at. */
void gate_compare(const struct side *base, const struct side *new, double relative, struct comparison *);

#endif
