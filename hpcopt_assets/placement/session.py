"""onnxruntime, opened one way.

In:  an ONNX model, its bytes or its path.   Out: a session on so many threads.
"""

from __future__ import annotations

from typing import Any

BATCH_ROWS = 4096
# Where nobody says another number: more rows a run are no faster, and answers do not depend on it.


def open_session(model: bytes | str, threads: int) -> Any:
    """A session on the CPU; raises what onnxruntime raises. Weights in files of their own need the path."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Threads that wait busily take the cores from whoever else works on them.
    options.log_severity_level = 3  # what it warns of are nodes it folds
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
