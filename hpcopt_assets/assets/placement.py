"""Assets of placement: snapshots of a cluster, a model of them, and what becomes of the model's answers."""

import hashlib
from pathlib import Path

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import OWNER, declared
from hpcopt_assets.contracts.frozen import Frozen
from hpcopt_assets.contracts.placement_config import InferenceConfig, PlacementConfig
from hpcopt_assets.contracts.placement_tables import (
    PLACEMENT_PREDICTIONS,
    PLACEMENT_SCORES,
    PLACEMENT_SNAPSHOTS,
    PLACEMENT_STUDY,
)
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.files import write_beside, write_drawings
from hpcopt_assets.orchestration.io import markdown_table, part_path
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.provenance import code_version
from hpcopt_assets.placement.inference import predictions
from hpcopt_assets.placement.predict import Predictor, open_predictor
from hpcopt_assets.placement.rivals import score_model
from hpcopt_assets.placement.snapshots import make_snapshots
from hpcopt_assets.placement.study import study_admission
from hpcopt_assets.placement.summary import cause_shares, headline, later_figures
from hpcopt_assets.placement.train import train

GROUP = "placement"
ROOMS = ("placement",)
MODEL = dg.AssetKey("placement_model")
MODEL_FILE, BUNDLE_FILE = "model.onnx", "bundle.json"


class SnapshotRun(dg.Config):
    """What one run may decide: how many snapshots; the config's number if absent."""

    rows: int | None = None


def placement_assets(configs: Configs, project: Project) -> list[dg.AssetsDefinition]:
    """Snapshots, the model's files, predictions, scores, and the study of admission."""
    return [*_made(configs.placement), *_asked(configs.placement, project)]


def _simulated(placement: PlacementConfig) -> tuple[Frozen, ...]:
    """What a simulation reads."""
    return placement.cluster, placement.workload, placement.generator


def _made(placement: PlacementConfig) -> list[dg.AssetsDefinition]:
    """Snapshots, and the model of them."""

    @dg.asset(
        **declared(
            PLACEMENT_SNAPSHOTS,
            group=GROUP,
            rooms=ROOMS,
            reads=(*_simulated(placement), placement.split),
            kinds=("numba",),
        )
    )
    def placement_snapshots(context: dg.AssetExecutionContext, config: SnapshotRun) -> pl.DataFrame:
        rows = config.rows or placement.generator.rows
        made = make_snapshots(placement, rows=rows, seed=placement.generator.seed)
        context.add_output_metadata({"causes": dg.MetadataValue.md(markdown_table(cause_shares(made)))})
        return made

    @dg.asset(
        key=MODEL,
        group_name=GROUP,
        owners=[OWNER],
        kinds={"onnx", "lightgbm", "svg"},
        code_version=code_version(
            (*ROOMS, "plots"),
            (placement.cluster, placement.generator, placement.model, placement.score.calibration),
        ),
        description="P(failed) and P(cause) of an attempt: model, bundle and figures in data/placement/.",
    )
    def placement_model(
        project: dg.ResourceParam[Project], placement_snapshots: pl.DataFrame
    ) -> dg.MaterializeResult[None]:
        trained = train(placement_snapshots, _sha256_of_snapshots(project), placement)
        onnx, bundle = project.placement / MODEL_FILE, project.placement / BUNDLE_FILE
        text = trained.bundle.model_dump_json(indent=2) + "\n"
        write_beside(onnx, trained.onnx)
        write_beside(bundle, text.encode())
        figures = later_figures(_own(project), placement_snapshots, placement.score.calibration.bins)
        write_drawings(project.placement, figures)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(hashlib.sha256(trained.onnx + text.encode()).hexdigest()),
            metadata={
                "dagster/uri": dg.MetadataValue.path(str(onnx)),
                "bundle": dg.MetadataValue.path(str(bundle)),
                "trees_count": trained.booster.num_trees(),
                "threshold": trained.bundle.threshold,
                "size_bytes": len(trained.onnx),
            },
        )

    return [placement_snapshots, placement_model]


def _asked(placement: PlacementConfig, project: Project) -> list[dg.AssetsDefinition]:
    """What a model answers, how good that is, and what becomes of it."""

    @dg.asset(
        deps=[MODEL],
        **declared(
            PLACEMENT_PREDICTIONS,
            group=GROUP,
            rooms=ROOMS,
            reads=(placement.cluster, placement.inference),
            files=_from_elsewhere(project, placement.inference),
        ),
    )
    def placement_predictions(
        project: dg.ResourceParam[Project], placement_snapshots: pl.DataFrame
    ) -> pl.DataFrame:
        named = placement.inference
        predictor = open_predictor(project.home / named.onnx, project.home / named.bundle)
        predictor.check_cluster(placement.cluster)
        return predictions(predictor, placement_snapshots, named.batch_rows, _sha256_of_snapshots(project))

    @dg.asset(
        deps=[MODEL],
        **declared(
            PLACEMENT_SCORES,
            group=GROUP,
            rooms=ROOMS,
            reads=(*_simulated(placement), placement.split, placement.model, placement.score),
        ),
    )
    def placement_scores(
        context: dg.AssetExecutionContext,
        project: dg.ResourceParam[Project],
        placement_snapshots: pl.DataFrame,
    ) -> pl.DataFrame:
        scored = score_model(
            placement, _checked(project, placement), placement_snapshots, _sha256_of_snapshots(project)
        )
        context.add_output_metadata({"scores": dg.MetadataValue.md(markdown_table(headline(scored)))})
        return scored

    @dg.asset(
        deps=[MODEL],
        **declared(
            PLACEMENT_STUDY,
            group=GROUP,
            rooms=ROOMS,
            reads=(*_simulated(placement), placement.study, placement.model),
        ),
    )
    def placement_study(
        context: dg.AssetExecutionContext, project: dg.ResourceParam[Project]
    ) -> pl.DataFrame:
        studied = study_admission(placement, _checked(project, placement))
        context.add_output_metadata({"study": dg.MetadataValue.md(markdown_table(studied))})
        return studied

    return [placement_predictions, placement_scores, placement_study]


def _from_elsewhere(project: Project, named: InferenceConfig) -> tuple[Path, ...]:
    """Model and bundle that predict, but for our own: those are an asset, whose version counts."""
    files = (project.home / named.onnx, project.home / named.bundle)
    ours = {(project.placement / name).resolve() for name in (MODEL_FILE, BUNDLE_FILE)}
    return tuple(path for path in files if path.resolve() not in ours)


def _own(project: Project) -> Predictor:
    return open_predictor(project.placement / MODEL_FILE, project.placement / BUNDLE_FILE)


def _checked(project: Project, placement: PlacementConfig) -> Predictor:
    predictor = _own(project)
    predictor.check_cluster(placement.cluster)
    return predictor


def _sha256_of_snapshots(project: Project) -> str:
    with part_path(project.store, (PLACEMENT_SNAPSHOTS.name,), None).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
