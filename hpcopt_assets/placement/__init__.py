"""Placement: can a job be placed on a cluster whose leaf switches are joined by optical circuit switches?

In:  a cluster and a workload as configs/placement.yaml describes them; a model and its bundle.
Out: placement_snapshots, an ONNX model with its bundle, predictions, scores, a study of admission.
Not here: traces and scheduling policies (simulate/); where files are kept (assets/).

cluster.py    attempts, one after the other    train.py       a model from snapshots, through
workload.py   jobs and uplink failures         graph.py         preprocessing as ONNX nodes (tables.py),
kernel/       the exact decision               trees.py         trees that float32 holds,
snapshots.py  the table of them                calibration.py   chances and a threshold
predict.py    any model on any rows: bundles.py, layout.py (scalers.py, outputs.py, classes.py) read how,
              feeding.py, categories.py and domains.py check rows; command.py, explain.py say it
score.py      measures; rivals.py what is measured; study.py admission; pictures.py, summary.py a look at it
"""
