"""Votes from files of any known form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from jamrank.data.comparisons import Comparisons
from jamrank.data.duplicates import common_factor, divided, times_in_file
from jamrank.data.parsing import REQUIRED
from jamrank.data.periods import TIMES
from jamrank.errors import InputError, ParameterError
from jamrank.io.canonical import with_questions, with_types
from jamrank.io.coded_files import code_table, read_coded
from jamrank.io.compression import decompressed
from jamrank.io.covariates import with_covariates
from jamrank.io.documents import read_bytes
from jamrank.io.given import StrPath, VoteSource, given_name, is_path, listed, load_given, of_pandas
from jamrank.io.joining import JSON_SUFFIXES, file_names, joined, placed
from jamrank.io.needed import needed_columns
from jamrank.io.read_log import ABSTAINED, BOTH_BAD, NO_ANSWER, NotReadError, ReadLog
from jamrank.io.records import Record, looks_like_json, parse_records
from jamrank.io.row_filters import EVERYBODY, Annotators, Sieve, refuse_bad_rows, refuse_second_header, with_all_rows
from jamrank.io.sources import is_source, load_source
from jamrank.io.tables import PARQUET_SUFFIXES, load_table, parse_table
from jamrank.io.way import CANONICAL, Way

_TITLE = "jamrank's own form"
_NO_GROUPS, _NO_GROUP = ("winner", "weight", "p_left", "grade"), "(none)"
_WORDS = ("left", "right", "tie"), ("both_bad", "abstain")


def read_comparisons(
    path: VoteSource,
    format: str | None = None,
    mapping: Mapping[str, str] | None = None,
    winner_words: Mapping[str, str] | None = None,
    *,
    skip_bad_rows: bool = False,
    only: Any = (),
    without: Any = (),
    covariates: Any = (),
    once: bool = False,
) -> Comparisons:
    """Read votes from a file or several, or from a data frame or a list.

    Parameters
    ----------
    path : path-like or list of them, data frame, mapping or list of votes
        CSV, TSV, JSON, JSON Lines or Parquet, plain or compressed with gzip or zstd, or a folder of Parquet files.
        jamrank's own form is a table with the columns ``annotator``, ``left``, ``right`` and ``winner``
        (``left``, ``right``, ``tie``, ``both_bad``, ``abstain``, the id of the item that won, or empty for no
        answer), optionally ``weight`` and ``question`` (empty: one for all). A table with these four columns is of
        this form, whatever else it has; others are recognised by their columns and values. Several files may be of
        different forms; who and what is called the same is the same in all. One of several that names no annotators
        is the work of one, who is called like the file.
        A pandas, polars or arrow frame and a mapping of columns are read as a file with these columns would be. A
        list has records (dicts) or tuples: (winner, loser), (left, right, winner) or (annotator, left, right,
        winner).
    format : str, optional
        The form of the files, where it is not recognised; one of ``"canonical"`` and ``jamrank.io.FORMATS``.
    mapping : dict, optional
        Which column is what, for a table of no known form: ``left``, ``right`` and ``winner`` (or ``p_left``, 1
        where left won), or ``chosen`` and ``rejected``; and ``annotator``, ``question`` and ``weight`` where they
        are known. These three may also be named alone, for a form that is recognised. ``a.b`` looks into records,
        ``a+b`` takes two columns for one id.
    winner_words : dict, optional
        What the winner's words mean, where they are others: ``{"a1": "left", "a2": "right", "equal": "tie"}``. Also
        ``both_bad`` and ``abstain``.
    skip_bad_rows : bool
        Whether to set rows aside that cannot be votes (an item compared with itself, a missing id, an unknown winner
        or weight) instead of refusing the file; ``readings`` has their number and the reasons.
    only, without : id or list of ids, optional
        The annotators whose votes count, or those whose votes do not.
    covariates : list of str, or mapping of str to function, optional
        Further columns to keep: numbers that may sway a vote, left minus right, for :class:`jamrank.CovariateBT`. A
        function computes one from the table of the file, a polars frame.
    once : bool
        Whether to count a file once that is included several times. Every vote must occur a multiple of these times.

    Returns
    -------
    Comparisons
        How each file was understood is in ``readings``. Both-bad votes count as ties there, abstentions as votes
        that were not cast. Ids of a CSV are integers where all of their column are written as such (left and right
        count as one).

    Raises
    ------
    InputError
        If something in a file is not as it should be; it names the rows.
    ParameterError
        If `path` cannot be votes, an annotator is not among those who voted, or `once` is asked of votes that do not
        all occur several times.
    """
    way = Way.checked(format, mapping, winner_words, skip_bad_rows, only, without, covariates)
    paths = listed(path)
    if len(paths) == 1:
        votes = _read_one(paths[0], way)
    else:
        names = file_names(paths)
        parts = [_read_frame(one, replace(way, who=names[k])) for k, one in enumerate(paths)]
        votes = _votes_of(_chosen(parts, way), paths, way)
    return divided(votes, times_in_file(votes)) if once else votes


def read_groups(
    path: VoteSource,
    by: str,
    format: str | None = None,
    mapping: Mapping[str, str] | None = None,
    winner_words: Mapping[str, str] | None = None,
    *,
    skip_bad_rows: bool = False,
    only: Any = (),
    without: Any = (),
    covariates: Any = (),
    once: bool = False,
) -> tuple[Comparisons, dict[str, Comparisons]]:
    """Read votes as :func:`read_comparisons` does, and apart for each value of a further column.

    Parameters
    ----------
    path, format, mapping, winner_words, skip_bad_rows, only, without, covariates, once
        As in :func:`read_comparisons`.
    by : str
        The column: the domain, the language, the question, the annotator.

    Returns
    -------
    votes : Comparisons
        All of them.
    groups : dict of str to Comparisons
        Those of each value, by its text; of rows where the column is empty, under ``(none)``.

    Raises
    ------
    InputError
        If there is no such column, or something in a file is not as it should be.
    """
    way = Way.checked(format, mapping, winner_words, skip_bad_rows, only, without, covariates)
    paths = listed(path)
    names = file_names(paths) if len(paths) > 1 else [None]
    parts: list[tuple[pl.DataFrame, ReadLog]] = []
    groups: dict[str, list[pl.DataFrame]] = {}
    for one, who in zip(paths, names, strict=True):
        content, typed = _load(one)
        own = replace(way, who=who)
        frame, reading, content = _sifted(content, typed, given_name(one), own)
        parts.append((frame, reading))
        for name, piece in _split(frame, content, by, given_name(one)):
            if isinstance(piece, list) or piece.columns != frame.columns:
                piece, _ = _understood(piece, typed, given_name(one), own.for_part_of(reading))
            groups.setdefault(name, []).append(piece)
    votes = _votes_of(_chosen(parts, way), paths, way)
    counted = Annotators(only=tuple(map(str, votes.annotators.tolist()))) if way.annotators else EVERYBODY
    frames = {name: counted.keep(joined(groups[name], way.covariates)) for name in sorted(groups)}
    kept = list(way.covariates)
    parted = {name: Comparisons.from_frame(frame, kept) for name, frame in frames.items() if frame.height}
    if not once:
        return votes, parted
    times = times_in_file(votes)
    if any(common_factor(part, 1) % times for part in parted.values()):
        raise ParameterError(f"--once: the copies of a vote differ in {by!r}; leave one of the two out")
    return divided(votes, times), {name: divided(part, times) for name, part in parted.items()}


def _split(
    frame: pl.DataFrame, content: pl.DataFrame | list[Record], by: str, source: str
) -> list[tuple[str, pl.DataFrame | list[Record]]]:
    """Return the rows of each value of a column: of the canonical table or, if it has none such, of the original."""
    if by in frame.columns and by not in _NO_GROUPS:
        return _partition(frame, by, source)
    if isinstance(content, list) and any(by in record for record in content):
        chunks: dict[str, list[Record]] = {}
        for record in content:
            value = record.get(by)
            chunks.setdefault(_NO_GROUP if value is None else str(value), []).append(record)
        return list(chunks.items())
    if isinstance(content, pl.DataFrame) and by in content.columns and by not in _NO_GROUPS:
        return _partition(content, by, source)
    known = content.columns if isinstance(content, pl.DataFrame) else list(content[0]) if content else []
    there = ", ".join(repr(name) for name in known if name not in _NO_GROUPS)
    raise InputError(f"no column {by!r} to group by", f"there are {there}", source=source)


def _partition(frame: pl.DataFrame, by: str, source: str) -> list[tuple[str, pl.DataFrame | list[Record]]]:
    dtype = frame[by].dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Duration, pl.Object):
        raise InputError(
            f"column {by!r} holds {dtype}, which cannot name groups", "expected text, numbers or dates", source=source
        )
    named = frame.with_columns(pl.col(by).cast(pl.String).fill_null(_NO_GROUP).alias("\0group"))
    parts = named.partition_by("\0group", as_dict=True, include_key=False)
    return [(str(name), part) for (name,), part in parts.items()]


def _votes_of(parts: list[tuple[pl.DataFrame, ReadLog]], paths: Sequence[StrPath], way: Way) -> Comparisons:
    """Return the votes of several tables as one."""
    try:
        together = joined([part for part, _ in parts], way.covariates)
        votes = Comparisons.from_frame(together, list(way.covariates))
    except InputError as error:
        raise placed(error, [part for part, _ in parts], [given_name(one) for one in paths]) from None
    for (part, _), one in zip(parts, paths, strict=True):
        _refuse_empty_ids(votes, part, given_name(one))
    return _with_readings(votes, tuple(reading for _, reading in parts))


def _read_one(path: Any, way: Way) -> Comparisons:
    if way in (Way(), Way(CANONICAL)) and _is_table(path) and (coded := read_coded(path)) is not None:
        reading = ReadLog(given_name(path), CANONICAL, _TITLE, rows=coded.n_votes + coded.n_missing)
        return _with_readings(coded, (reading,))
    votes = _read_categories(path, way)
    return _encoded(path, way, _read_frame(path, way)) if votes is None else votes


def _read_categories(path: Any, way: Way) -> Comparisons | None:
    """Return the votes of a CSV read part by part into categories; None where any row is odd or wrong.

    Those are left to the whole table, which has ids as they are written.
    """

    def needed(sample: pl.DataFrame) -> set[str]:
        own = way.plain and _is_own(sample, way.format)
        return set(sample.columns) if own else needed_columns(sample, given_name(path), way)

    content = code_table(path, needed) if _is_text_file(path) else None
    if content is None:
        return None
    try:
        frame, reading = _understood(content, False, given_name(path), way)
        if reading.format == CANONICAL and way.annotators:
            refuse_bad_rows(frame)
        found = frame, replace(reading, rows=content.height)
        del content
        return _encoded(path, way, found)
    except (InputError, NotReadError):
        return None


def _encoded(path: Any, way: Way, found: tuple[pl.DataFrame, ReadLog]) -> Comparisons:
    """Return the votes of one table."""
    ((frame, reading),) = _chosen([found], way)
    try:
        votes = Comparisons.from_frame(frame, list(way.covariates))
    except InputError as error:
        raise with_all_rows(error.within(given_name(path)), frame, refuse_bad_rows) from None
    _refuse_empty_ids(votes, frame, given_name(path))
    if reading.format == CANONICAL and not reading.outcomes and (votes.n_ties or votes.n_missing):
        reading = replace(reading, outcomes=_canonical_outcomes(frame))
    if of_pandas(path):
        object.__setattr__(votes, "frames", "pandas")
    return _with_readings(votes, (reading,))


def _chosen(parts: list[tuple[pl.DataFrame, ReadLog]], way: Way) -> list[tuple[pl.DataFrame, ReadLog]]:
    """Return the votes of the annotators who count."""
    if not way.annotators:
        return parts
    known = {str(name) for part, _ in parts for name in part["annotator"].cast(pl.String).unique()}
    who = way.annotators.among(known)
    kept = [(who.keep(part), reading, part.height) for part, reading in parts]
    return [
        (part, replace(reading, set_aside=reading.set_aside | _left_out(before - part.height)))
        for part, reading, before in kept
    ]


def _left_out(count: int) -> dict[str, int]:
    return {"votes of annotators who are left out": count} if count else {}


def _read_frame(path: Any, way: Way) -> tuple[pl.DataFrame, ReadLog]:
    """Return the votes of a file in the canonical form, and how it was understood."""
    content, typed = _load(path)
    frame, reading, _ = _sifted(content, typed, given_name(path), way)
    return frame, reading


def _sifted(
    content: pl.DataFrame | list[Record], typed: bool, source: str, way: Way
) -> tuple[pl.DataFrame, ReadLog, pl.DataFrame | list[Record]]:
    """Understand a table, without the rows that cannot be votes where these are to be set aside; also return it."""

    def read(content: pl.DataFrame | list[Record], check: bool = True) -> tuple[pl.DataFrame, ReadLog]:
        frame, reading = _understood(content, typed, source, way)
        if reading.format == CANONICAL and check:
            refuse_bad_rows(frame)
        return frame, reading

    sieve = Sieve(content)
    while True:
        try:
            frame, reading = read(sieve.content, way.skip or bool(way.annotators))
        except InputError as error:
            if way.skip and sieve.set_aside(error):
                continue
            error = sieve.placed(error).within(source)
            raise error if way.skip else with_all_rows(error, content, read) from None
        counts = {**reading.set_aside, **sieve.counts()}
        return frame, replace(reading, rows=len(content), set_aside=counts), sieve.content


def _understood(
    content: pl.DataFrame | list[Record], typed: bool, source: str, way: Way
) -> tuple[pl.DataFrame, ReadLog]:
    try:
        if not typed and isinstance(content, pl.DataFrame):
            refuse_second_header(content)
        if way.plain and isinstance(content, pl.DataFrame) and _is_own(content, way.format):
            frame, reading = _read_own(content, typed, source)
            return with_covariates(frame, content, way.covariates, None), reading
        return _read_foreign(content, typed, source, way)
    except InputError as error:
        raise error.within(source) from None


def _is_own(content: pl.DataFrame, format: str | None) -> bool:
    """Return whether a table is in jamrank's own format, and its winners are written as they should be."""
    if format not in (None, CANONICAL) or not all(name in content.columns for name in REQUIRED):
        return False
    winner = content["winner"]
    if winner.dtype in (pl.Categorical, pl.Enum, pl.Null):
        winner = winner.unique().cast(pl.String)
    if winner.dtype != pl.String:
        return False
    known = winner.is_null()
    for words in _WORDS:
        if not known.all():
            for word in words:
                known |= (winner == word).fill_null(False)
    return bool(known.all())


def _read_own(content: pl.DataFrame, typed: bool, source: str) -> tuple[pl.DataFrame, ReadLog]:
    asked, note = None, ""
    if "question" not in content.columns and len(content.columns) > len(REQUIRED):
        from jamrank.io.formats import Table

        table = Table(content, written=not typed)
        question, note = table.asked("question")
        asked = table.asked_in
        if question is not None:
            content = content.with_columns(question.alias("question"))
    frame = with_questions(content if typed else with_types(content))
    notes = (note,) if note else ()
    return frame, ReadLog(source, CANONICAL, _TITLE, rows=frame.height, notes=notes, asked_in=asked)


def _is_text_file(path: Any) -> bool:
    """Return whether something is a file, no pipe, and called neither JSON nor Parquet."""
    return _is_table(path) and Path(path).is_file() and Path(path).suffix.lower() not in PARQUET_SUFFIXES


def _is_table(path: Any) -> bool:
    """Return whether something is a file, no pipe, and not called JSON; or a folder."""
    if not is_path(path) or is_source(path):
        return False
    where = Path(path)
    return where.is_dir() or (
        where.is_file() and not any(end.lower() in JSON_SUFFIXES for end in where.suffixes[-2:])
    )


def _load(path: Any) -> tuple[pl.DataFrame | list[Record], bool]:
    if not is_path(path):
        return load_given(path), True
    if is_source(path):
        return load_source(path), True
    if Path(path).is_dir():
        return load_table(path)
    source = str(path)
    data = decompressed(read_bytes(path), source)
    named = any(suffix.lower() in JSON_SUFFIXES for suffix in Path(path).suffixes[-2:])
    if data and not data.isspace() and (named or looks_like_json(data)):
        return parse_records(data, source), True
    return parse_table(data, source)


def _read_foreign(
    content: pl.DataFrame | list[Record], typed: bool, source: str, way: Way
) -> tuple[pl.DataFrame, ReadLog]:
    from jamrank.io.formats import Table, named_further, read_ballots

    who = {} if way.who is None else {"who": way.who}
    table = Table(content, not typed, given=named_further(way.mapping), words=way.words, **who)
    ballots, reading = read_ballots(table, source, way.format, way.mapping)
    frame = _with_times(ballots.frame(), content)
    if way.covariates and not ballots.sides:
        raise InputError(f"{reading.title} has no sides", "covariates are left minus right: name left and right")
    frame = with_covariates(frame, content, way.covariates, ballots.row)
    return (frame if typed else with_types(frame)), reading


def _with_times(frame: pl.DataFrame, content: pl.DataFrame | list[Record]) -> pl.DataFrame:
    """Return the votes with the column that says when they were cast, where every row of the file is a vote."""
    known = content.columns if isinstance(content, pl.DataFrame) else list(content[0]) if content else []
    name = next((name for name in TIMES if name in known), None)
    if name is None or len(content) != frame.height:
        return frame
    if isinstance(content, pl.DataFrame):
        return frame.with_columns(content[name])
    return frame.with_columns(pl.Series(name, [record.get(name) for record in content], strict=False))


def _refuse_empty_ids(votes: Comparisons, frame: pl.DataFrame, source: str) -> None:
    """Refuse ids that are empty text, as Parquet may have them; sorted, an empty one comes first."""
    if "" not in (*votes.items[:1].tolist(), *votes.annotators[:1].tolist()):
        return
    for name in ("annotator", "left", "right"):
        empty = frame[name].cast(pl.String) == ""
        if empty.any():
            rows = [row + 1 for row in empty.arg_true().to_list()]
            problem, remedy = f"{name} is missing", "every vote needs an id there"
            error = InputError(problem, remedy, source=source, row=rows[0], rows=rows)
            raise with_all_rows(error, frame, refuse_bad_rows)


def _canonical_outcomes(frame: pl.DataFrame) -> dict[str, int]:
    """Return what a canonical file says beside left, right and tie."""
    winner = frame["winner"].cast(pl.String)
    odd = {BOTH_BAD: int((winner == "both_bad").sum()), ABSTAINED: int((winner == "abstain").sum())}
    if any(odd.values()):
        odd[NO_ANSWER] = winner.null_count()
    return {name: count for name, count in odd.items() if count}


def _with_readings(votes: Comparisons, readings: tuple[ReadLog, ...]) -> Comparisons:
    object.__setattr__(votes, "readings", readings)
    return votes
