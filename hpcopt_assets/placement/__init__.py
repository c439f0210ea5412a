"""Placement: can a job be placed on a cluster whose leaf switches are joined by optical circuit switches?

In:  a cluster and a workload as configs/placement.yaml describes them; a model and its bundle.
Out: placement_snapshots, an ONNX model with its bundle, predictions, scores, a study of admission.
Not here: traces and scheduling policies (simulate/); where files are kept (assets/).

cluster.py    simulate the cluster       graph.py   preprocessing as ONNX nodes
workload.py   jobs and uplink failures   train.py   trees, calibration, export
kernel/       the exact decision         score.py   how good, against what
"""
