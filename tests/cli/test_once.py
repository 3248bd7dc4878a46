"""Nothing is computed twice in a fit that writes everything."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import pytest
from click.testing import CliRunner

import jamrank.diagnostics.health_check
import jamrank.report.analysis
from jamrank.cli import main
from jamrank.fitting.latent import LatentFitter
from jamrank.inference.annotators import AnnotatorFit
from jamrank.inference.canonical_sampler import CanonicalSampler
from jamrank.inference.latent import LatentInference
from jamrank.inference.order_probability import OrderProbability
from jamrank.inference.result import RankingResult
from jamrank.inference.score_uncertainty import LatentUncertainty


@pytest.fixture
def calls(monkeypatch):
    """Count calls of what is expensive."""
    found: Counter[str] = Counter()

    def count(owner, name):
        genuine = vars(owner)[name]
        if isinstance(genuine, cached_property):
            function = genuine.func

            def value(self):
                found[name] += 1
                return function(self)

            counted = cached_property(value)
            counted.__set_name__(owner, name)
        else:

            def counted(*args, **options):
                found[name] += 1
                return genuine(*args, **options)

        monkeypatch.setattr(owner, name, counted)

    for name in ("ranking", "annotators_frame", "pairs", "features_frame", "correlated"):
        count(RankingResult, name)
    count(AnnotatorFit, "frame")
    count(LatentUncertainty, "estimate")
    for name in ("check", "contested_pairs", "unsettled_pairs"):
        count(jamrank.report.analysis, name)
    count(CanonicalSampler, "draw")
    count(LatentInference, "observed")
    count(LatentFitter, "fit")
    count(OrderProbability, "__init__")
    count(OrderProbability, "within_groups")
    return found


@pytest.mark.parametrize("featured", [True, False])
def test_everything_is_computed_once(calls, tmp_path, featured):
    def call(*arguments):
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    files = {name: tmp_path / f"votes{name}.csv" for name in ("", "-features")}
    # Of an annotator to be left out the report has a second fit, without their votes: here all are honest.
    options = "--items", 12, "--votes", 900, "--features", 3, "--flips", "0.05,0.1,0.1,0.15"
    assert call("simulate", "--out", files[""], *options).exit_code == 0
    exports = "parquet,json,preferences,markdown"
    options = "--model", "JAM", "--out", tmp_path / "out", "--export", exports
    if featured:
        options = *options, "--features", files["-features"]
    result = call("fit", files[""], *options)
    assert result.exit_code == 0, result.output
    assert calls["annotators_frame"] == calls["ranking"] == calls["check"] == calls["__init__"] == 1
    assert (calls["fit"], calls["draw"], calls["estimate"]) == (1, 1, 1)
    assert {name: n for name, n in calls.items() if n > 1} == {}
