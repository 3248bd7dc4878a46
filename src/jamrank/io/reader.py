"""Votes from files of any known form."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from jamrank.comparisons import REQUIRED, Comparisons
from jamrank.errors import InputError, ParameterError
from jamrank.io.canonical import with_questions, with_types
from jamrank.io.compression import decompressed
from jamrank.io.documents import read_bytes
from jamrank.io.reading import ABSTAINED, BOTH_BAD, NO_ANSWER, Reading
from jamrank.io.records import Record, looks_like_json, parse_records
from jamrank.io.tables import load_table, parse_table

__all__ = ["read_comparisons", "read_groups"]

StrPath = str | os.PathLike[str]

_CANONICAL = "canonical"
_TITLE = "jamrank's own form"
_JSON_SUFFIXES = {".json", ".jsonl", ".ndjson"}
_NO_GROUPS, _NO_GROUP = ("winner", "weight"), "(none)"
_IDS = (("annotator",), ("left", "right"), ("question",))


def read_comparisons(
    path: StrPath | Sequence[StrPath], format: str | None = None, mapping: Mapping[str, str] | None = None
) -> Comparisons:
    """Read votes from a file or several.

    Parameters
    ----------
    path : path-like or list of them
        CSV, TSV, JSON, JSON Lines or Parquet, plain or compressed with gzip or zstd, or a folder of Parquet files.
        jamrank's own form is a table with the columns ``annotator``, ``left``, ``right`` and ``winner``
        (``left``, ``right``, ``tie``, ``both_bad``, ``abstain``, or empty for no answer), optionally ``weight``
        and ``question`` (empty: one for all). A table with these four columns is of this form, whatever else
        it has; others are recognised by their columns and values. Several files may be of different forms; who and
        what is called the same is the same in all.
    format : str, optional
        The form of the files, where it is not recognised; one of ``"canonical"`` and ``jamrank.io.FORMATS``.
    mapping : dict, optional
        Which column is what, for a table of no known form: ``left``, ``right`` and ``winner`` (or ``p_left``, 1
        where left won), or ``chosen`` and ``rejected``; and ``annotator``, ``question`` and ``weight`` where they
        are known. ``a.b`` looks into records.

    Returns
    -------
    Comparisons
        How each file was understood is in ``readings``. Both-bad votes count as ties there, abstentions as votes
        that were not cast. Ids of a CSV are integers where all of their column are written as such (left and right
        count as one).

    Raises
    ------
    InputError
        If something in a file is not as it should be; it names the row.
    """
    _check_options(format, mapping)
    paths = _listed(path)
    if len(paths) == 1:
        return _read_one(paths[0], format, mapping)
    return _votes_of([_read_frame(one, format, mapping) for one in paths], paths)


def read_groups(
    path: StrPath | Sequence[StrPath],
    by: str,
    format: str | None = None,
    mapping: Mapping[str, str] | None = None,
) -> tuple[Comparisons, dict[str, Comparisons]]:
    """Read votes as :func:`read_comparisons` does, and apart for each value of a further column.

    Parameters
    ----------
    path, format, mapping
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
    _check_options(format, mapping)
    paths = _listed(path)
    parts: list[tuple[pl.DataFrame, Reading]] = []
    groups: dict[str, list[pl.DataFrame]] = {}
    for one in paths:
        content, typed = _load(one)
        frame, reading = _understood(content, typed, str(one), format, mapping)
        parts.append((frame, reading))
        for name, piece in _split(frame, content, by, str(one)):
            if isinstance(piece, list) or piece.columns != frame.columns:
                piece, _ = _understood(piece, typed, str(one), None if mapping else reading.format, mapping)
            groups.setdefault(name, []).append(piece)
    votes = _votes_of(parts, paths)
    return votes, {name: Comparisons.from_frame(_joined(groups[name])) for name in sorted(groups)}


def _split(
    frame: pl.DataFrame, content: pl.DataFrame | list[Record], by: str, source: str
) -> list[tuple[str, pl.DataFrame | list[Record]]]:
    """Return the rows of each value of a column: of the canonical table or, if it has none such, of the original."""
    if by in frame.columns and by not in _NO_GROUPS:
        return _partition(frame, by)
    if isinstance(content, list) and any(by in record for record in content):
        pieces: dict[str, list[Record]] = {}
        for record in content:
            value = record.get(by)
            pieces.setdefault(_NO_GROUP if value is None else str(value), []).append(record)
        return list(pieces.items())
    if isinstance(content, pl.DataFrame) and by in content.columns and by not in _NO_GROUPS:
        return _partition(content, by)
    known = content.columns if isinstance(content, pl.DataFrame) else list(content[0]) if content else []
    there = ", ".join(repr(name) for name in known if name not in _NO_GROUPS)
    raise InputError(f"no column {by!r} to group by", f"there are {there}", source=source)


def _partition(frame: pl.DataFrame, by: str) -> list[tuple[str, pl.DataFrame | list[Record]]]:
    named = frame.with_columns(pl.col(by).cast(pl.String).fill_null(_NO_GROUP).alias("\0group"))
    parts = named.partition_by("\0group", as_dict=True, include_key=False)
    return [(str(name), part) for (name,), part in parts.items()]


def _listed(path: StrPath | Sequence[StrPath]) -> list[StrPath]:
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not paths:
        raise ParameterError("no files to read; expected at least one")
    return paths


def _votes_of(parts: list[tuple[pl.DataFrame, Reading]], paths: Sequence[StrPath]) -> Comparisons:
    """Return the votes of several tables as one."""
    try:
        votes = Comparisons.from_frame(_joined([part for part, _ in parts]))
    except InputError as error:
        raise _placed(error, [part.height for part, _ in parts], [str(one) for one in paths]) from None
    for (part, _), one in zip(parts, paths, strict=True):
        _refuse_empty_ids(votes, part, str(one))
    return _with_readings(votes, tuple(reading for _, reading in parts))


def _check_options(format: str | None, mapping: Mapping[str, str] | None) -> None:
    if format is not None and mapping is not None:
        raise ParameterError("format and mapping exclude each other; give one of them")
    if mapping is not None:
        from jamrank.io.formats import check_mapping

        check_mapping(mapping)
    if format not in (None, _CANONICAL):
        from jamrank.io.formats import find_format

        find_format(str(format))


def _read_one(path: StrPath, format: str | None, mapping: Mapping[str, str] | None) -> Comparisons:
    frame, reading = _read_frame(path, format, mapping)
    try:
        votes = Comparisons.from_frame(frame)
    except InputError as error:
        raise error.within(str(path)) from None
    _refuse_empty_ids(votes, frame, str(path))
    if reading.format == _CANONICAL and (votes.n_ties or votes.n_missing):
        reading = _canonical_reading(str(path), frame)
    return _with_readings(votes, (reading,))


def _read_frame(path: StrPath, format: str | None, mapping: Mapping[str, str] | None) -> tuple[pl.DataFrame, Reading]:
    """Return the votes of a file in the canonical form, and how it was understood."""
    content, typed = _load(path)
    return _understood(content, typed, str(path), format, mapping)


def _understood(
    content: pl.DataFrame | list[Record],
    typed: bool,
    source: str,
    format: str | None,
    mapping: Mapping[str, str] | None,
) -> tuple[pl.DataFrame, Reading]:
    own = isinstance(content, pl.DataFrame) and (
        format == _CANONICAL or (format is None and all(name in content.columns for name in REQUIRED))
    )
    try:
        if own and mapping is None and isinstance(content, pl.DataFrame):
            frame = with_questions(content if typed else with_types(content))
            return frame, Reading(source, _CANONICAL, _TITLE, rows=frame.height)
        return _read_foreign(content, typed, source, format, mapping)
    except InputError as error:
        raise error.within(source) from None


def _load(path: StrPath) -> tuple[pl.DataFrame | list[Record], bool]:
    if Path(path).is_dir():
        return load_table(path)
    source = str(path)
    data = decompressed(read_bytes(path), source)
    named = any(suffix.lower() in _JSON_SUFFIXES for suffix in Path(path).suffixes[-2:])
    if data and not data.isspace() and (named or looks_like_json(data)):
        return parse_records(data, source), True
    return parse_table(data, source)


def _read_foreign(
    content: pl.DataFrame | list[Record],
    typed: bool,
    source: str,
    format: str | None,
    mapping: Mapping[str, str] | None,
) -> tuple[pl.DataFrame, Reading]:
    from jamrank.io.formats import Table, read_ballots

    ballots, reading = read_ballots(Table(content, written=not typed), source, format, mapping)
    frame = ballots.frame()
    return (frame if typed else with_types(frame)), reading


def _refuse_empty_ids(votes: Comparisons, frame: pl.DataFrame, source: str) -> None:
    """Refuse ids that are empty text, as Parquet may have them; sorted, an empty one comes first."""
    if "" not in (*votes.items[:1].tolist(), *votes.annotators[:1].tolist()):
        return
    for name in ("annotator", "left", "right"):
        empty = frame[name].cast(pl.String) == ""
        if empty.any():
            row = int(empty.arg_max() or 0)
            raise InputError(f"{name} is missing", "every vote needs an id there", source=source, row=row + 1)


def _canonical_reading(source: str, frame: pl.DataFrame) -> Reading:
    """Return what a canonical file says beside left, right and tie."""
    winner = frame["winner"]
    odd = {BOTH_BAD: int((winner == "both_bad").sum()), ABSTAINED: int((winner == "abstain").sum())}
    if any(odd.values()):
        odd[NO_ANSWER] = winner.null_count()
    return Reading(
        source,
        _CANONICAL,
        _TITLE,
        rows=frame.height,
        outcomes={name: count for name, count in odd.items() if count},
    )


def _with_readings(votes: Comparisons, readings: tuple[Reading, ...]) -> Comparisons:
    object.__setattr__(votes, "readings", readings)
    return votes


def _joined(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Return tables as one: ids are text where any of their kind is; no weight is 1, no question an empty one."""
    names = [*REQUIRED, *(name for name in ("weight", "question") if any(name in frame.columns for frame in frames))]
    whole = [
        frame.with_columns(
            *([pl.lit(1.0).alias("weight")] if "weight" in names and "weight" not in frame.columns else []),
            *([pl.lit("").alias("question")] if "question" in names and "question" not in frame.columns else []),
        ).select(names)
        for frame in frames
    ]
    casts: dict[str, Any] = {"winner": pl.String(), **({"weight": pl.Float64()} if "weight" in names else {})}
    for kind in _IDS:
        types = {frame[name].dtype for frame in whole for name in kind if name in names}
        if len(types) > 1:
            casts |= dict.fromkeys(kind, pl.String())
    return pl.concat([frame.cast(cast(Any, casts)) for frame in whole])


def _placed(error: InputError, heights: list[int], sources: list[str]) -> InputError:
    """Return an error on a row of several tables as one on a row of the table that it came from."""
    if error.row is None:
        return error
    ends = np.cumsum(heights)
    file = int(np.searchsorted(ends, error.row))
    row = error.row - int(ends[file] - heights[file])
    return type(error)(error.problem, error.remedy, source=sources[file], row=row)
