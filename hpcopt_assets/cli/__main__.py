"""`python -m hpcopt_assets.cli`."""

from hpcopt_assets.cli.main import main

main()
