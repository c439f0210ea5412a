"""The outcome of a claim over every combination of verdicts on candidate and evidence."""

from itertools import product

import pytest

from hpcopt_assets.claims.outcome import CONDITIONS, outcome_of, overall_verdict
from hpcopt_assets.contracts.vocabulary import DEMANDS, ClaimCriterion, Outcome, Verdict

CRITERIA = (*DEMANDS, *CONDITIONS)
SOME = (*DEMANDS, *CONDITIONS[:4])
REST = CONDITIONS[4:]
ALL = [
    dict(zip(SOME, found, strict=True)) | dict.fromkeys(REST, rest)
    for found in product(Verdict, repeat=len(SOME))
    for rest in Verdict
]
# Conditions are alike: every combination of four of them, and the others together.


def test_every_criterion_is_either_judged_or_a_condition():
    assert {*CRITERIA, ClaimCriterion.OVERALL} == set(ClaimCriterion)
    assert len(ALL) == 3**9


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.NOT_ASSESSED])
def test_each_condition_alone_keeps_a_claim_from_being_accepted(condition, verdict):
    found = dict.fromkeys(CRITERIA, Verdict.PASS) | {condition: verdict}
    assert outcome_of(found) is Outcome.CONDITIONAL


def test_accepted_exactly_where_all_pass():
    accepted = [found for found in ALL if outcome_of(found) is Outcome.ACCEPTED]
    assert accepted == [dict.fromkeys(CRITERIA, Verdict.PASS)]


def test_blocked_exactly_where_the_gain_or_a_constraint_fails():
    for found in ALL:
        refuted = any(found[criterion] is Verdict.FAIL for criterion in DEMANDS)
        assert (outcome_of(found) is Outcome.BLOCKED) == refuted


def test_conditional_needs_a_gain_and_none_means_that_it_could_not_be_assessed():
    for found in ALL:
        outcome, gain = outcome_of(found), found[ClaimCriterion.PRIMARY_GAIN]
        if outcome is Outcome.CONDITIONAL:
            assert gain is Verdict.PASS
        if outcome is None:
            assert gain is Verdict.NOT_ASSESSED


def test_verdict_and_outcome_never_contradict():
    words = {Outcome.ACCEPTED: "PASS", Outcome.BLOCKED: "FAIL"}
    for found in ALL:
        assert overall_verdict(found) == words.get(outcome_of(found), "NOT_ASSESSED")


def test_less_evidence_is_never_better():
    """Taking one verdict away leaves nothing accepted, and nothing judged that was not."""
    rank = {Outcome.ACCEPTED: 3, Outcome.CONDITIONAL: 2, None: 1, Outcome.BLOCKED: 0}
    for found in ALL:
        for criterion in CRITERIA:
            if found[criterion] is Verdict.PASS:
                fewer = {name: verdict for name, verdict in found.items() if name is not criterion}
                assert outcome_of(fewer) is not Outcome.ACCEPTED
                assert rank[outcome_of(fewer)] <= rank[outcome_of(found)]
    assert outcome_of({}) is None
