"""Bundle: a trace's results leave the site, without its people, and can be checked elsewhere.

In:  tables, configs and a dossier as bytes; a folder that somebody says is a bundle.
Out: a folder with manifest.json and SHA256SUMS; what in a folder is not what its manifest says.
Not here: what is exported (orchestration/evidence.py) and what is computed again (cli/recompute.py).

key.py        the site's key           hiding.py     pseudonyms in tables and entries
folder.py     writing a bundle         integrity.py  every byte against the manifest
reading.py    tables, configs, lineage of a bundle, none trusted
comparing.py  a table against the same table computed again
"""
