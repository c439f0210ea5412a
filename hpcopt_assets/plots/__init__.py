"""Plots: the house style and the few kinds of figure we draw. The third floor.

In:  arrays and captions.   Out: SVG text.
Not here: what a figure says (dossier/), formulas (measures/).
"""
