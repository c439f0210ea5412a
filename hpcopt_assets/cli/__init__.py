"""The `hpcopt` command: thin over the same functions as the assets.

In:  arguments.   Out: tables and files; exit code 0, 2 for wrong usage or input, 1 for a failed run.
Not here: any computation. Heavy imports wait until the command that needs them.

app.py      the command itself, how it ends     graph.py    demo, run, traces, fetch, lock, policies
reading.py  a trace named on the command line   files.py    ingest, replay, whatif: one file, without Dagster
asked.py    options that several commands have  results.py  query
differ.py   differ                              told.py     what it says in the terminal
fidelity.py  fidelity                            dossier.py  dossier
forecast.py  forecast                           placement.py  placement predict, placement run
export.py   export                              verify.py   verify
rendering.py  a dossier from tables at hand     recompute.py  a bundle's tables again
"""

from hpcopt_assets.cli.main import main as main
