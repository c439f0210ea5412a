"""The chapter of figures: queue length over time, and how waits and bounded slowdowns are spread.

In:  TraceEvidence.   Out: blocks. Series come from measures/, pictures from plots/.
"""

from __future__ import annotations

from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.dossier.blocks import Block, Figure, Heading, Paragraph
from hpcopt_assets.dossier.evidence import REPLAY, TraceEvidence
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.slowdown import bounded_slowdown
from hpcopt_assets.measures.usage import queued_jobs
from hpcopt_assets.plots.distribution import Sample, slowdown_distribution, wait_distribution
from hpcopt_assets.plots.steps import StepPanel, step_lines
from hpcopt_assets.plots.style import Drawing

OBSERVED_LABEL = "observed"
DRAWN_FROM = (TRACE_JOBS.name, f"{REPLAY}POLICY")


def pictures(evidence: TraceEvidence) -> list[Block]:
    """Three figures; the queue is shown for the policies that are held against the record first."""
    heading = Heading(2, "Figures")
    observed = Schedule.of(evidence.jobs)
    replayed = {policy: Schedule.of(evidence.schedule(policy)) for policy in evidence.policies.ids}
    everyone = {OBSERVED_LABEL: observed} | replayed
    if not any(len(schedule) for schedule in everyone.values()):
        return [heading, Paragraph("No job ran in any schedule: there is nothing to draw.")]
    tau_s = evidence.objective.measures.tau_s
    queue = step_lines(
        [_queues(evidence, policy) for policy in evidence.policies.fidelity_baselines],
        file_name="queue_length.svg",
        title="Queue length over time, observed and replayed",
        y_label="jobs in the queue",
        recorded_label=OBSERVED_LABEL,
    )
    waits = wait_distribution(
        [Sample(name, s.wait_s, is_recorded=s is observed) for name, s in everyone.items()],
        file_name="waits.svg",
        title="Waits, observed and replayed",
    )
    slowdowns = slowdown_distribution(
        [
            Sample(name, bounded_slowdown(s.wait_s, s.runtime_s, tau_s), is_recorded=s is observed)
            for name, s in everyone.items()
        ],
        file_name="bounded_slowdowns.svg",
        title="Bounded slowdowns, observed and replayed",
    )
    blocks: list[Block] = [heading]
    if len(observed) == 0:
        blocks.append(Paragraph("The log records no starts: there is no observed schedule to show."))
    return blocks + [_figure(drawing) for drawing in (queue, waits, slowdowns)]


def _queues(evidence: TraceEvidence, policy: str) -> StepPanel:
    """The jobs that ran both in the record and in the replay, as fidelity compares them."""
    observed, replayed = Schedule.paired(evidence.jobs, evidence.schedule(policy))
    label = f"replay of {policy}"
    if len(observed) == 0:
        return StepPanel(None, queued_jobs(Schedule.of(evidence.schedule(policy))), label)
    return StepPanel(queued_jobs(observed), queued_jobs(replayed), label)


def _figure(drawing: Drawing) -> Figure:
    return Figure.of(drawing, *DRAWN_FROM)
