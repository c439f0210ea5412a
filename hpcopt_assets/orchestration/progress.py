"""Progress of a run in the terminal, and why it failed, in a line each.

In:  the log records of a run (Dagster's `loggers`).   Out: what `hpcopt run` shows.
Not here: anything the UI shows; it has the same events.
"""

import logging
import sys
import time
from dataclasses import dataclass

import dagster as dg

from hpcopt_assets.contracts.errors import HpcoptError, InputError

LOGGER = "progress"
IN_WORDS = "in_words"
QUIET_S = 5.0
# Metadata of a check that says in a sentence what is wrong with the input, and what to do.


class _ProgressHandler(logging.Handler):
    """A line when a table is done, and what a long step says of itself when nothing was told for a while.

    Checks and other events pass silently unless they fail.
    """

    def __init__(self) -> None:
        super().__init__()
        self.started_at: dict[str, float] = {}
        self.told_at = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        meta = getattr(record, "dagster_meta", {})
        event = meta.get("dagster_event")
        if event is None and record.levelno == logging.INFO:
            if time.monotonic() - self.told_at >= QUIET_S:
                self._tell(f"    {meta.get('orig_message', record.getMessage())}")
            return
        if not isinstance(event, dg.DagsterEvent) or event.step_key is None:
            return
        if event.is_step_start:
            self.started_at[event.step_key] = time.monotonic()
        elif event.is_step_materialization:
            made = event.step_materialization_data.materialization
            rows = made.metadata.get("dagster/row_count")
            elapsed = time.monotonic() - self.started_at.get(event.step_key, time.monotonic())
            counted = f"{rows.value:>10,} rows" if rows is not None else " " * 15
            self._tell(f"  {made.asset_key.to_user_string():<28}{counted}  {elapsed:6.1f} s")

    def _tell(self, line: str) -> None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
        self.told_at = time.monotonic()


@dg.logger({}, description="One line a table on standard error.")
def progress_logger(_init: dg.InitLoggerContext) -> logging.Logger:
    """Logger for `hpcopt run`."""
    logger = logging.Logger(LOGGER, level=logging.DEBUG)
    logger.addHandler(_ProgressHandler())
    return logger


@dataclass(frozen=True)
class Failure:
    """Where and why a run failed. `exit_code` is 2 where the input is at fault, else 1."""

    step: str
    reason: str
    exit_code: int


def failures(result: dg.ExecuteInProcessResult) -> list[Failure]:
    """Our own errors' sentence, a check's name and finding, else the exception's last line."""
    found = []
    for event in result.all_events:
        if event.event_type == dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            check = event.asset_check_evaluation_data
            if not check.passed:
                where, said = check.asset_key.to_user_string(), check.metadata.get(IN_WORDS)
                text = "; ".join(f"{name}: {value.value}" for name, value in check.metadata.items())
                found.append(
                    Failure(where, f"{check.check_name} failed: {text}", 1)
                    if said is None
                    else Failure(where, str(said.value), InputError.exit_code)
                )
        elif event.is_step_failure and event.step_key is not None:
            error = event.step_failure_data.error
            while error is not None and error.cause is not None and not _ours(error.cls_name):
                error = error.cause
            if error is None or error.cls_name == "DagsterAssetCheckFailedError":
                continue
            ours = _ours(error.cls_name)
            message = error.message.strip()
            reason = message.partition(": ")[2] if ours else message.splitlines()[-1]
            found.append(Failure(event.step_key.replace("__", "/"), reason, ours.exit_code if ours else 1))
    by_reason: dict[str, list[Failure]] = {}
    for failure in found:
        by_reason.setdefault(failure.reason, []).append(failure)
    # One cause may stop several steps: it is said once.
    return [
        Failure(", ".join(same.step for same in these), reason, these[0].exit_code)
        for reason, these in by_reason.items()
    ]


def _ours(name: str | None) -> type[HpcoptError] | None:
    """Our error class of that name; the event log keeps only names."""
    return next((cls for cls in _family(HpcoptError) if cls.__name__ == name), None)


def _family(cls: type[HpcoptError]) -> list[type[HpcoptError]]:
    return [cls, *(member for sub in cls.__subclasses__() for member in _family(sub))]
