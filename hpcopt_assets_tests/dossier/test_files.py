"""Files appear whole or not at all, and nothing of anybody else's is touched."""

from pathlib import Path

import pytest

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.dossier.files import write_dossier
from hpcopt_assets.dossier.trace import Dossier

FIRST = Dossier("made", "# one", "<p>one", '{"n": 1}', {"a.svg": "<svg/>", "b.svg": "<svg></svg>"}, "1")
SECOND = Dossier("made", "# two", "<p>two", '{"n": 2}', {"a.svg": "<svg>2</svg>"}, "2")


def content(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_dossier_is_its_files(tmp_path):
    folder = tmp_path / "deep" / "made"
    paths = write_dossier(folder, FIRST)
    assert content(folder) == {
        "dossier.json": '{"n": 1}',
        "dossier.md": "# one",
        "dossier.html": "<p>one",
        "figures/a.svg": "<svg/>",
        "figures/b.svg": "<svg></svg>",
    }
    assert (paths.html.name, paths.markdown.name) == ("dossier.html", "dossier.md")
    assert paths.figures == folder / "figures"
    assert [path.name for path in folder.parent.iterdir()] == ["made"]


def test_an_earlier_dossier_is_replaced_whole(tmp_path):
    write_dossier(tmp_path / "made", FIRST)
    write_dossier(tmp_path / "made", SECOND)
    assert content(tmp_path / "made") == {
        "dossier.json": '{"n": 2}',
        "dossier.md": "# two",
        "dossier.html": "<p>two",
        "figures/a.svg": "<svg>2</svg>",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_a_failure_leaves_the_earlier_dossier_alone(tmp_path, monkeypatch):
    write_dossier(tmp_path / "made", FIRST)
    before = content(tmp_path / "made")
    rename = Path.rename

    def fail_on_new(self, target):
        if self.name == "new":
            raise OSError("disk full")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_on_new)
    with pytest.raises(OSError, match="disk full"):
        write_dossier(tmp_path / "made", SECOND)
    assert content(tmp_path / "made") == before
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_nothing_half_written_is_seen(tmp_path, monkeypatch):
    write = Path.write_text

    def fail_on_figures(self, text, **options):
        if self.suffix == ".svg":
            raise OSError("disk full")
        return write(self, text, **options)

    monkeypatch.setattr(Path, "write_text", fail_on_figures)
    with pytest.raises(OSError, match="disk full"):
        write_dossier(tmp_path / "made", FIRST)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_things_is_refused(tmp_path):
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"thesis\.tex where the dossier is to stand"):
        write_dossier(tmp_path / "made", FIRST)
    assert content(tmp_path / "made") == {"thesis.tex": "years of work"}
    with pytest.raises(InputError, match=r"thesis\.tex"):
        write_dossier(tmp_path / "made" / "thesis.tex", FIRST)


def test_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "made").mkdir()
    write_dossier(tmp_path / "made", FIRST)
    assert len(content(tmp_path / "made")) == 5
