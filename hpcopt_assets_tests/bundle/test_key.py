"""The key: made once, readable by its owner alone, never told; and what its pseudonyms do and do not show."""

from __future__ import annotations

import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.bundle.key import Pseudonyms, pseudonyms
from hpcopt_assets.contracts.errors import EvidenceError, InputError
from hpcopt_assets.contracts.identities import Holds

ONE, OTHER = Pseudonyms(b"\1" * 32), Pseudonyms(b"\2" * 32)


def test_a_key_is_made_once_and_kept_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "data" / ".export_key"
    first = pseudonyms(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(first.key) == 32
    assert pseudonyms(path) == first
    assert pseudonyms(tmp_path / "another") != first
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_whoever_comes_at_the_same_time_gets_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(pseudonyms, [tmp_path / "key"] * 32))
    assert len({each.key for each in found}) == 1


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606])
def test_a_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    pseudonyms(path)
    path.chmod(mode)
    with pytest.raises(InputError, match=f"mode {mode:04o}"):
        pseudonyms(path)


@pytest.mark.parametrize("content", ["", "secret", "0" * 63, "0" * 65, "G" * 64, "\0" * 64])
def test_what_is_no_key_is_refused_and_not_quoted(tmp_path: Path, content: str) -> None:
    path = tmp_path / "key"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(InputError, match="no key") as refused:
        pseudonyms(path)
    assert not content or content not in str(refused.value)


def test_a_key_is_never_shown() -> None:
    assert ONE.key.hex() not in repr(ONE)
    assert str(ONE.key) not in repr(ONE)
    assert ONE.key_id not in ONE.key.hex()


@given(name=st.text(), other=st.text(), kind=st.sampled_from([each for each in Holds if each.is_identity]))
def test_one_name_has_one_pseudonym_of_a_kind_and_key(name: str, other: str, kind: Holds) -> None:
    made = ONE.of(kind, name)
    assert re.fullmatch(rf"{kind.value}_[0-9a-f]{{16}}", made)
    assert made == ONE.of(kind, name)
    assert (made == ONE.of(kind, other)) == (name == other)
    assert made != OTHER.of(kind, name)


def test_a_user_and_an_account_of_one_name_cannot_be_told_to_belong_together() -> None:
    digits = {ONE.of(kind, "lee").partition("_")[2] for kind in (Holds.USER, Holds.GROUP, Holds.ACCOUNT)}
    assert len(digits) == 3


def test_a_hash_of_names_says_only_whether_two_contents_are_one() -> None:
    made = ONE.version("a" * 64)
    assert re.fullmatch("[0-9a-f]{64}", made)
    assert made == ONE.version("a" * 64)
    assert len({made, ONE.version("b" * 64), OTHER.version("a" * 64), "a" * 64}) == 4


def test_columns_keep_nulls_and_places_whatever_their_type() -> None:
    names = pl.Series("user", ["b", None, "a", "b"])
    made = [None if name is None else ONE.of(Holds.USER, name) for name in names]
    assert ONE.of_all(Holds.USER, names).to_list() == made
    assert ONE.of_all(Holds.USER, names.cast(pl.Categorical)).to_list() == made
    assert ONE.of_all(Holds.USER, names.clear()).to_list() == []


def test_two_names_with_one_pseudonym_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pseudonyms, "_digits", lambda *_: "0" * 16)
    with pytest.raises(EvidenceError, match="two of 2 names"):
        ONE.of_all(Holds.USER, pl.Series("user", ["a", "b"]))
