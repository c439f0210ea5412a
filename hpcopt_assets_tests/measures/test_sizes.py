"""Bands of job size: both ends belong to them."""

import numpy as np

from hpcopt_assets.measures.sizes import band_names, band_of


def test_every_size_is_in_the_band_that_names_it():
    upper = (1, 4)
    names = band_names(upper)
    assert names == ["1", "2-4", "5+"]
    sizes = np.array([1, 2, 4, 5, 2**24])
    assert [names[place] for place in band_of(sizes, upper)] == ["1", "2-4", "2-4", "5+", "5+"]
