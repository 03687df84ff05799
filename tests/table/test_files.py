import errno
import os
import sys
from pathlib import Path

import pytest

from plmetrics.core.errors import AbsentDataError, ConfigError, DataError, EnvironmentFault
from plmetrics.table.data_files import list_data_files
from plmetrics.table.files import Complaints, SourceFile, kind_of, list_files, stat_files

ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("y,s\n1,0.5\n")


def names(*paths: str, base: Path | None = None) -> list[str]:
    complaints = Complaints()
    files = stat_files(list_files(paths, base or Path(), ENDINGS, complaints), ENDINGS, complaints)
    complaints.settle()
    return [file.name for file in files]


def refused(*paths: str) -> str:
    with pytest.raises((ConfigError, DataError, EnvironmentFault)) as caught:
        names(*paths)
    return str(caught.value)


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["scores/b.csv"], ["b.csv"]),
        (["scores"], ["B.CSV", "a.csv", "b.csv", "deep/c.csv"]),
        (["scores/*.csv"], ["a.csv", "b.csv"]),
        (["scores/**/*.csv"], ["a.csv", "b.csv", "deep/c.csv"]),
        (["scores/d*p"], ["deep/c.csv"]),
        (["*/b.csv"], ["scores/b.csv"]),
        (["scores/b.csv", "scores/a.csv"], ["a.csv", "b.csv"]),
        (["scores/deep/c.csv", "scores/a.csv"], ["a.csv", "deep/c.csv"]),
        (["scores/deep", "scores/[ab].csv"], ["a.csv", "b.csv", "deep/c.csv"]),
        (["scores/../scores//a.csv"], ["a.csv"]),
    ],
)
def test_paths_globs_and_folders_mean_these_files_in_order_of_their_names(root, paths, expected):
    make(root, "scores/b.csv", "scores/a.csv", "scores/B.CSV", "scores/deep/c.csv")
    assert names(*paths) == expected


def test_size_and_absolute_path_of_a_file(root):
    make(root, "scores/a.csv")
    assert stat_files(list_files(["scores"], Path(), ENDINGS, Complaints()), ENDINGS, Complaints()) == (
        SourceFile(path=str(root / "scores" / "a.csv"), name="a.csv", size=10, rows=None),
    )


def test_relative_paths_start_at_the_base(root):
    make(root, "project/scores/a.csv")
    assert names("scores/a.csv", base=root / "project") == ["a.csv"]
    assert names("scores/a.csv", base=Path("project")) == ["a.csv"]
    assert names(str(root / "project" / "scores"), base=root / "elsewhere") == ["a.csv"]


def test_the_home_folder_may_be_written_as_a_tilde(root, monkeypatch):
    make(root, "scores/a.csv")
    monkeypatch.setenv("HOME", str(root))
    assert names("~/scores/a.csv") == ["a.csv"]


@pytest.mark.parametrize("path", ["scores", "scores/**/*.csv", "scores/*"])
def test_hidden_files_and_folders_are_not_data(root, path):
    hidden = ["_SUCCESS", "_tmp.csv", ".a.csv.crc", ".x.csv", "_temporary/0/a.csv", ".git/b.csv"]
    hidden += ["day=1/_c.csv", "day=1/.d/e.csv"]
    make(root, "scores/day=1/a.csv", *(f"scores/{name}" for name in hidden))
    assert names(path) == ["day=1/a.csv"]


def test_a_hidden_file_or_folder_that_is_named_is_data(root):
    make(root, "_old/a.csv", "_old/_b.csv")
    assert names("_old") == ["a.csv"]
    assert names("_old/*.csv") == ["a.csv"]
    assert names("_old/_b.csv") == ["_b.csv"]


@pytest.mark.parametrize(
    "path",
    ["scores", "scores/day=1", "scores/day=1/region=DE", "scores/day=1/region=DE/a.csv", "scores/*/*/a.csv"],
)
def test_a_file_in_key_value_folders_has_the_same_name_however_it_is_reached(root, path):
    make(root, "scores/day=1/region=DE/a.csv")
    assert names(path) == ["day=1/region=DE/a.csv"]


def test_a_file_whose_name_looks_like_a_pattern_is_found_by_its_name(root):
    make(root, "a[1].csv", "a1.csv")
    assert names("a[1].csv") == ["a[1].csv"]


def test_a_folder_may_be_named_like_a_file(root):
    make(root, "scores.csv/part-0.csv", "scores.csv/part-1.csv")
    assert names("scores.csv") == ["part-0.csv", "part-1.csv"]
    assert names("*.csv") == ["scores.csv/part-0.csv", "scores.csv/part-1.csv"]


def test_links_are_followed_but_not_in_circles(root):
    make(root, "scores/a.csv", "elsewhere/b.csv")
    (root / "scores" / "more").symlink_to(root / "elsewhere")
    (root / "elsewhere" / "back").symlink_to(root / "scores")
    (root / "scores" / "self").symlink_to(root / "scores")
    (root / "scores" / "up").symlink_to(root)
    assert names("scores") == ["a.csv", "more/b.csv"]
    assert names("scores/**/*.csv") == names("scores/**/a**.csv") == ["a.csv"]


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize("paths", [["scores"], ["scores/*.csv"], ["scores/b.csv", "other/../scores/a.csv"]])
def test_links_that_make_rows_count_twice_are_refused(root, link, paths):
    make(root, "scores/a.csv", "scores/c.csv")
    link(root / "scores/a.csv", root / "scores/b.csv")
    assert refused(*paths) == (
        "scores/b.csv: is the same file as scores/a.csv, so that its rows would count twice\n"
        "    name each file once, and no links to it"
    )
    assert names("scores/b.csv", "scores/c.csv") == ["b.csv", "c.csv"]


def test_a_folder_that_is_there_twice_by_a_link_is_refused(root):
    make(root, "scores/2026-01-31/a.csv")
    (root / "scores/latest").symlink_to("2026-01-31")
    assert refused("scores").startswith(
        "scores/latest/a.csv: is the same file as scores/2026-01-31/a.csv, so that its rows would count twice"
    )
    assert names("scores/latest") == ["a.csv"]
    assert names("scores/**/*.csv") == ["2026-01-31/a.csv"]


def test_an_absent_file_is_named_with_the_nearest_one(root):
    make(root, "scores/monday.csv")
    assert refused("scores/mondays.csv") == (
        "scores/mondays.csv: no such file or folder\n    did you mean 'monday.csv'?"
    )
    assert refused("score/monday.csv") == (
        "score/monday.csv: no such file or folder\n    there is no folder score; did you mean 'scores'?"
    )
    assert refused("scores/x.pq") == "scores/x.pq: no such file or folder"


def test_an_absent_day_is_not_taken_for_another(root):
    for day in ("02", "30"):
        make(root, f"scores/day=2026-03-{day}/a.csv")
    near = "the nearest that are there: day=2026-03-02 before it, day=2026-03-30 after it"
    absent = "scores/day=2026-03-10"
    assert refused(absent) == f"{absent}: no such file or folder\n    {near}"
    for below in (f"{absent}/a.csv", f"{absent}/x/a.csv"):
        assert refused(below) == f"{below}: no such file or folder\n    there is no folder {absent}; {near}"
    assert refused(f"{absent}/*.csv") == (
        f"{absent}/*.csv: no file matches\n    there is no folder {absent}; {near}"
    )


def test_files_that_are_absent_are_5_unless_another_is_bad(root):
    make(root, "a.csv", "b.json")
    with pytest.raises(AbsentDataError):
        names("a.csv", "x.csv", "y/*.csv")
    with pytest.raises(DataError) as caught:
        names("a.csv", "x.csv", "b.json")
    assert not isinstance(caught.value, AbsentDataError)
    assert len(caught.value.problems) == 2


def test_a_pattern_that_matches_nothing(root):
    make(root, "scores/a.csv")
    assert refused("scores/*.pq") == "scores/*.pq: no file matches"
    assert refused("2026/*.pq") == "2026/*.pq: no file matches\n    there is no folder 2026"


def test_a_folder_without_data(root):
    make(root, "scores/_SUCCESS")
    assert refused("scores") == (
        "scores: the folder holds no data files (.parquet, .pq, .csv)\n"
        "    files and folders whose names start with _ or . are not data"
    )


@pytest.mark.parametrize(("name", "what"), [("a.json", "the ending '.json' is not"), ("a", "no ending")])
@pytest.mark.parametrize("path", ["scores", "scores/*", "scores/{}"])
def test_an_unknown_ending(root, path, name, what):
    make(root, f"scores/{name}", "scores/b.csv")
    message = refused(path.format(name))
    assert message.startswith(f"scores/{name}: ")
    assert what in message
    assert message.endswith("data files end in .parquet, .pq, .csv")


def test_a_workbook_is_saved_as_csv_first(root):
    make(root, "a.XLSX")
    assert refused("a.XLSX").startswith("a.XLSX: the ending '.XLSX' is not known\n    save the sheet as CSV")


def test_an_empty_file(root):
    (root / "a.csv").touch()
    assert refused("*.csv") == (
        "a.csv: is empty (0 bytes)\n    the program that writes it may have stopped halfway"
    )


@pytest.mark.parametrize("path", [".", "*.csv", "caf\udce9.csv"])
def test_a_name_that_is_not_utf_8(root, path):
    make(root, "caf\udce9.csv")
    assert refused(path) == "caf\\xe9.csv: the name is not UTF-8\n    rename the file or folder"


def test_a_link_to_nothing(root):
    make(root, "scores/a.csv")
    (root / "scores" / "b.csv").symlink_to(root / "gone.csv")
    assert refused("scores") == "scores/b.csv: is a link to a file that does not exist"


def test_all_bad_files_are_in_one_error(root):
    make(root, "good.csv", "a.txt")
    (root / "b.csv").touch()
    message = refused("*.*", "absent.csv")
    assert [line.split(":")[0] for line in message.splitlines() if not line.startswith("  ")] == [
        "absent.csv",
        "a.txt",
        "b.csv",
    ]


def test_a_long_list_of_bad_files_is_shortened(root):
    for number in range(13):
        (root / f"{number:02}.csv").touch()
    lines = [line for line in refused("*.csv").splitlines() if not line.startswith(" ")]
    assert len(lines) == 11
    assert lines[9] == "09.csv: is empty (0 bytes)"
    assert lines[10] == "and 3 more"


@pytest.mark.parametrize(
    "url", ["s3://bucket/a.parquet", "gs://b/*.pq", "https://host/a.csv", "hf:/x", "file:///a"]
)
def test_an_address_is_no_path(root, url):
    with pytest.raises(ConfigError, match="is an address; this must be on a local disk") as caught:
        names(url)
    assert f"'{url}'" in str(caught.value)


@pytest.mark.parametrize("path", ["", "  ", "a\0b.csv"])
def test_what_is_not_a_path(root, path):
    with pytest.raises(ConfigError, match="is not a path"):
        names(path)


def test_a_file_that_is_named_twice_is_refused(root):
    make(root, "a.csv", "b.csv")
    with pytest.raises(ConfigError, match=r"named twice, so that its rows would count twice: b\.csv"):
        names("*.csv", "b.csv")


@pytest.mark.parametrize("path", ["closed", "closed/*.csv", "closed/a.csv", "."])
def test_no_permission_is_a_fault_of_the_environment(root, monkeypatch, path):
    """The operating system is replaced, because permissions do not bind the administrator."""
    make(root, "closed/a.csv", "closed/empty.txt")
    closed = str(root / "closed")
    stat, scandir = Path.stat, os.scandir

    def refuse(path: Path) -> None:
        if str(path).startswith(closed) and str(path) != closed:
            raise PermissionError(13, "Permission denied", str(path))

    def guarded_stat(path: Path, **keywords: bool) -> os.stat_result:
        refuse(path)
        return stat(path, **keywords)

    def guarded_scandir(path: str) -> object:
        refuse(Path(path) / "any")
        return scandir(path)

    monkeypatch.setattr(Path, "stat", guarded_stat)
    monkeypatch.setattr(os, "scandir", guarded_scandir)
    with pytest.raises(EnvironmentFault, match=r"^closed(/.\.csv)?: no permission to read it$"):
        names(path)


def test_a_folder_that_cannot_be_listed_is_no_folder_without_matches(root, monkeypatch):
    (root / "closed").mkdir()
    refuse_folder(monkeypatch, root / "closed", errno.EACCES)
    with pytest.raises(EnvironmentFault, match=r"^closed: no permission to read it$"):
        names("closed/*.csv")


def refuse_folder(monkeypatch, folder, number):
    """Let the system refuse to list a folder: permissions do not bind the administrator."""
    scandir = os.scandir

    def guarded(path: str) -> object:
        if Path(path) == folder:
            raise OSError(number, os.strerror(number), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)


@pytest.mark.parametrize("pattern", ["days/*/*.csv", "days/**/*.csv", "days/[ab]/x.csv", "days"])
@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE])
def test_a_refusal_among_matches_leaves_nothing_out(root, monkeypatch, pattern, number):
    """A table without some of its files is another table, and gates would judge it."""
    make(root, "days/a/x.csv", "days/b/x.csv")
    assert len(names(pattern)) == 2
    refuse_folder(monkeypatch, root / "days" / "b", number)
    if pattern.endswith("[ab]/x.csv"):  # which lists no folder: its files are looked at one by one
        lstat = os.lstat

        def guarded(path: str) -> os.stat_result:
            if path.endswith("b/x.csv"):
                raise OSError(number, os.strerror(number), path)
            return lstat(path)

        monkeypatch.setattr(os, "lstat", guarded)
    with pytest.raises(EnvironmentFault, match=r"^days/b.*: (no permission to read it|cannot be read: .*)"):
        names(pattern)


def test_a_file_in_a_folder_that_cannot_be_entered(root, monkeypatch):
    make(root, "closed/a.csv")

    def refuse(path: Path, **_: bool) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    folder = root.stat()
    monkeypatch.setattr(Path, "stat", lambda path, **_: folder if path.name == "closed" else refuse(path))
    with pytest.raises(EnvironmentFault, match=r"^closed/a\.csv: no permission to read it$"):
        names("closed")


def test_one_folder_holds_one_format(root):
    make(root, "scores/a.parquet", "scores/b.csv", "scores/c.pq")
    complaints = Complaints()
    files = stat_files(list_files(["scores"], Path(), ENDINGS, complaints), ENDINGS, complaints)
    assert kind_of(files, ENDINGS, complaints) is None
    with pytest.raises(DataError) as caught:
        complaints.settle()
    assert str(caught.value) == (
        "scores: holds files of several formats: csv (scores/b.csv) and parquet (scores/a.parquet)\n"
        "    name the files of one format, such as *.parquet"
    )
    assert kind_of(files[::2], ENDINGS, Complaints()) == "parquet"


def test_a_folder_of_a_table_costs_a_few_calls(root):
    """Each night of a table lists the folders of all: 1,100 of them took a quarter of a second of each."""
    make(root, *(f"scores/day={day}/part.csv" for day in range(100)))
    list_data_files([str(root / "scores")], root, Complaints())  # what it imports is no cost of a folder
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        files = list_data_files([str(root / "scores")], root, Complaints())
    finally:
        sys.setprofile(None)
    assert [file.name for file in files[:2]] == ["day=0/part.csv", "day=1/part.csv"]
    assert calls / len(files) < 100
