"""hpcopt_assets: from raw scheduler logs to a recommendation with its evidence, as Dagster assets.

The rooms, in the order in which data flows:

    contracts/  measures/  plots/                     the floors: meaning, formulas, house style
    synthetic/  ->  ingest/  ->  simulate/  ->  fidelity/  ->  claims/  ->  dossier/  ->  warehouse/
    assets/  orchestration/  definitions.py  cli.py   the only places that know two rooms

A room imports the floors and never another room; only tables pass between rooms.
"""

__version__ = "0.1.0"
