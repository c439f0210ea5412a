"""A changed limit, policy or source makes exactly the assets that read it out of date."""

from __future__ import annotations

import pytest

from hpcopt_assets.definitions import build_definitions
from hpcopt_assets.orchestration import provenance
from hpcopt_assets.orchestration.project import Project

DOSSIERS = {"trace_dossier", "credibility_dossier"}
MEASURED = {
    "replay_measures",
    "estimate_accounting",
    "shaken_measures",
    "robustness",
    "stress_replays",
    "sensitivity",
    "recommendation",
    "fidelity_verdicts",
    "claim_verdicts",
    *DOSSIERS,
}


def code_versions() -> dict[str, str | None]:
    return {
        spec.key.to_user_string(): spec.code_version for spec in build_definitions().resolve_all_asset_specs()
    }


@pytest.mark.parametrize(
    ("file", "old", "new", "stale"),
    [
        *(
            ("fidelity", old, new, {"fidelity_verdicts", "policy_closeness", "trace_dossier"})
            for old, new in (
                ("max_bsld_ks: 0.15", "max_bsld_ks: 0.16"),
                ("seeded_start: false", "seeded_start: true"),
            )
        ),
        (
            "objective",
            "min_gain_ratio: 0.05",
            "min_gain_ratio: 0.06",
            {"robustness", "claim_verdicts", "recommendation", "stress_replays", "sensitivity", *DOSSIERS},
        ),
        ("objective", "tau_s: 10 ", "tau_s: 60 ", MEASURED),
        ("traces", "capacity_procs: 806", "capacity_procs: 807", set()),
        (
            "policies",
            "means: First come, first served; nobody overtakes.",
            "means: First come, first served.",
            {
                "replay/fifo_strict",
                "shaken_measures",
                "invariant_report",
                "policy_closeness",
                "recommendation",
                "claim_verdicts",
                "stress_replays",
                "sensitivity",
                *DOSSIERS,
            },
        ),
        ("synthetic", "jobs: 5000", "jobs: 4000", set()),
        ("placement", "attempts: 10000", "attempts: 9000", {"placement_study"}),
        ("placement", "batch_rows: 4096", "batch_rows: 2048", {"placement_predictions"}),
        ("placement", "leaves: 31", "leaves: 15", {"placement_model", "placement_scores", "placement_study"}),
        ("placement", "ceiling_draws: 40", "ceiling_draws: 50", {"placement_scores"}),
        ("robustness", "recorded: 200", "recorded: 100", {"shaken_measures", *DOSSIERS}),
        ("robustness", "draws: 1000", "draws: 2000", {"robustness", *DOSSIERS}),
        ("robustness", "threads: all", "threads: 1", set()),
        ("forecast", "folds: 6", "folds: 5", {"feature_splits", "trace_dossier"}),
        ("forecast", "rate: 0.01", "rate: 0.02", {"runtime_estimates", "trace_dossier"}),
        ("forecast", "[1, 8, 32, 128]", "[1, 8, 32]", {"forecast_scores", "recommendation", "trace_dossier"}),
        ("forecast", "replicas: 1000", "replicas: 999", {"forecast_scores", "trace_dossier"}),
        ("forecast", "jobs: 1000", "jobs: 999", {"runtime_importance", "trace_dossier"}),
        ("forecast", "seed: 7", "seed: 8", {"runtime_model", "runtime_importance", "trace_dossier"}),
        ("stress", "heavy_tail: [1.5, 2, 3]", "heavy_tail: [1.5, 2, 4]", {"stress_replays", "trace_dossier"}),
        ("stress", "seed: 23", "seed: 24", {"stress_replays", "trace_dossier"}),
        ("stress", "threads: all", "threads: 1", set()),
        ("sensitivity", "tau_s: [10, 60]", "tau_s: [10, 30]", {"sensitivity", "trace_dossier"}),
        ("sensitivity", "threads: all", "threads: 1", set()),
        ("forecast", "threads: 2", "threads: 3", set()),
    ],
)
def test_only_what_reads_a_decision_goes_stale(
    project: Project, file: str, old: str, new: str, stale: set[str]
) -> None:
    before = code_versions()
    path = project.configs / f"{file}.yaml"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    after = code_versions()
    assert {name for name in before if before[name] != after[name]} == stale


@pytest.mark.parametrize(
    ("changed", "stale"),
    [
        ("claims", {"robustness", "claim_verdicts", "recommendation", "stress_replays", "sensitivity"}),
        ("stress", {"stress_replays"}),
    ],
)
def test_changed_source_of_a_room_makes_only_its_assets_stale(
    project: Project, monkeypatch: pytest.MonkeyPatch, changed: str, stale: set[str]
) -> None:
    assert project.configs.is_dir()
    before = code_versions()
    honest = provenance.source_hash
    monkeypatch.setattr(
        provenance, "source_hash", lambda room: honest(room) + ("x" if room == changed else "")
    )
    after = code_versions()
    assert {name for name in before if before[name] != after[name]} == stale
