"""The demo: equal bytes for an equal seed, disturbances that can be seen, a header that tells of them."""

import numpy as np
import pytest

from hpcopt_assets.contracts.protocols import PriorityReplayer
from hpcopt_assets.contracts.swf import SWF_FIELDS
from hpcopt_assets.contracts.synthetic_config import SyntheticConfig
from hpcopt_assets.measures.usage import steps
from hpcopt_assets.synthetic.demo import Demo, make_demo, run_demo, swf_of, user_of_rank


def disturbed(config: SyntheticConfig, **changes: float) -> SyntheticConfig:
    disturbances = config.demo.disturbances.model_copy(update=changes)
    return config.model_copy(update={"demo": config.demo.model_copy(update={"disturbances": disturbances})})


@pytest.fixture(scope="module")
def demo(small: SyntheticConfig, replayer: PriorityReplayer) -> Demo:
    return run_demo(small, replayer)


def test_equal_seed_equal_bytes(small: SyntheticConfig, replayer: PriorityReplayer) -> None:
    once, again = (make_demo(small, replayer).encode("ascii") for _ in range(2))
    other = small.model_copy(update={"demo": small.demo.model_copy(update={"seed": 1})})
    assert once == again
    assert once != make_demo(other, replayer).encode("ascii")


def test_lines_are_the_jobs(small: SyntheticConfig, demo: Demo) -> None:
    """One line a job, the drain has none; times count from the header's UnixStartTime."""
    lines = [line for line in swf_of(demo, small).splitlines() if not line.startswith(";")]
    table = np.array([line.split() for line in lines], dtype=np.int64)
    fields = dict(zip(SWF_FIELDS, table.T, strict=True))
    assert table.shape == (small.demo.jobs, 18)
    assert fields["job"].tolist() == list(range(1, small.demo.jobs + 1))
    submit_s = small.demo.unix_start_s + fields["submit"]
    assert submit_s.tolist() == demo.workload.submit_s.tolist()
    assert (submit_s + fields["wait"]).tolist() == demo.start_s.tolist()
    assert fields["executable"].tolist() == demo.workload.application.tolist()
    assert fields["submit"][0] == 0
    assert set(fields["status"][demo.workload.is_over_request]) <= {0}
    assert set(fields["status"][~demo.workload.is_over_request]) == {1}


def test_header_says_what_was_done(small: SyntheticConfig, demo: Demo) -> None:
    header = [line for line in swf_of(demo, small).splitlines() if line.startswith(";")]
    told = "\n".join(header)
    assert header[0] == "; Version: 2.2"
    assert "; Computer: synthetic (Lublin-Feitelson model)" in header
    assert f"; MaxJobs: {small.demo.jobs}" in header
    assert "; MaxProcs: 128" in header
    assert "; UnixStartTime: 1704067200" in header
    assert "; TimeZoneString: UTC" in header
    assert f"seed {small.demo.seed}" in told
    assert f"jobs of user {demo.favoured_user} go first" in told
    assert "exp(N(0, 0.35))" in told
    day = np.datetime64(demo.drain.start_s, "s").astype(str).replace("T", " ")
    assert f"64 of 128 processors drained from {day} UTC" in told


def test_drain_empties_half_the_machine(demo: Demo) -> None:
    """From its start on, jobs use at most what is left; it starts only once enough processors are free."""
    drain, workload = demo.drain, demo.workload
    used = steps(demo.start_s, demo.start_s + workload.runtime_s, workload.procs)
    during_s = np.arange(drain.start_s, drain.end_s, 60)
    left = workload.capacity_procs - drain.procs
    assert drain.end_s - drain.start_s == 2 * 86_400
    assert drain.start_s >= drain.asked_s
    assert used.sample(during_s).max() <= left
    assert used.sample(during_s).max() > 0
    assert used.peak() > left
    assert used.peak() <= workload.capacity_procs


def test_drain_is_asked_for_where_the_config_says(small: SyntheticConfig, replayer: PriorityReplayer) -> None:
    late = run_demo(disturbed(small, drain_start_ratio=0.8, drain_days=1.0), replayer)
    submit_s = late.workload.submit_s
    share = (late.drain.asked_s - submit_s[0]) / (submit_s[-1] - submit_s[0])
    assert share == pytest.approx(0.8, abs=1e-5)
    assert late.drain.end_s - late.drain.start_s == 86_400


def test_favoured_user_waits_less(small: SyntheticConfig, replayer: PriorityReplayer, demo: Demo) -> None:
    """Than others do, and than the same jobs do where another user is favoured."""
    other = run_demo(disturbed(small, priority_user_rank=40), replayer)
    mine = demo.workload.user == demo.favoured_user
    wait_s = demo.start_s - demo.workload.submit_s
    assert other.favoured_user != demo.favoured_user
    assert wait_s[mine].mean() < 0.5 * wait_s[~mine].mean()
    assert wait_s[mine].mean() < 0.5 * (other.start_s - other.workload.submit_s)[mine].mean()


def test_rank_counts_users_by_jobs(demo: Demo) -> None:
    counts = np.bincount(demo.workload.user)
    by_rank = [user_of_rank(demo.workload, rank) for rank in (1, 2, 3)]
    assert counts[by_rank].tolist() == np.sort(counts)[::-1][:3].tolist()
    assert len(set(by_rank)) == 3


def test_scheduler_believes_blurred_requests(small: SyntheticConfig, demo: Demo) -> None:
    factor = np.log(demo.believed_s / demo.workload.requested_s)
    assert demo.believed_s.min() >= 1
    assert factor.std() == pytest.approx(small.demo.disturbances.request_blur_sigma, rel=0.1)
    assert factor.mean() == pytest.approx(0.0, abs=0.05)


def test_replay_is_handed_the_disturbed_workload(small: SyntheticConfig, replayer: PriorityReplayer) -> None:
    """In release order, the drain among the jobs, with requests as believed and three priorities."""
    handed: dict[str, list[int]] = {}

    def recorder(**arguments: list[int]) -> list[int]:
        handed.update(arguments)
        return replayer(**arguments)

    demo = run_demo(small, recorder)
    at = handed["priority"].index(0)
    assert handed["release_s"] == sorted(handed["release_s"])
    assert (handed["release_s"][at], handed["procs"][at]) == (demo.drain.asked_s, 64)
    assert handed["runtime_s"][at] == handed["believed_s"][at] == 2 * 86_400
    assert handed["priority"].count(0) == 1
    believed_s, priority = (np.delete(handed[name], at) for name in ("believed_s", "priority"))
    assert believed_s.tolist() == demo.believed_s.tolist()
    is_favoured = demo.workload.user == demo.favoured_user
    assert priority.tolist() == np.where(is_favoured, 1, 2).tolist()


def test_disturbances_leave_the_workload_alone(small: SyntheticConfig, replayer: PriorityReplayer) -> None:
    other = run_demo(disturbed(small, request_blur_sigma=1.0, drain_procs_ratio=0.25), replayer)
    again = run_demo(small, replayer)
    assert other.workload.submit_s.tolist() == again.workload.submit_s.tolist()
    assert other.workload.requested_s.tolist() == again.workload.requested_s.tolist()
    assert other.start_s.tolist() != again.start_s.tolist()
