from __future__ import annotations

import pytest

from jamrank.errors import InputError, JudgeError
from jamrank.jury import Judge, Template, read_judges

KEY = "sk-planted-4711"


def write(tmp_path, text):
    path = tmp_path / "judges.toml"
    path.write_text(text)
    return path


def test_judges_are_read_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("A_KEY", KEY)
    (tmp_path / "prompt.txt").write_text("Which? {left} or {right}?")
    path = write(
        tmp_path,
        '[judges.a]\nendpoint = "https://api.example.com/v1"\nmodel = "m"\nkey_env = "A_KEY"\n'
        'prompt_file = "prompt.txt"\nconcurrency = 3\nper_minute = 100\nfamily = "f"\n'
        '[judges.b]\nendpoint = "http://127.0.0.1:1/v1"\nmodel = "n"\n',
    )
    (a,) = read_judges(path, ["a"])
    assert (a.name, a.concurrency, a.per_minute, a.family) == ("a", 3, 100, "f")
    assert a.template == Template("Which? {left} or {right}?")
    assert [judge.name for judge in read_judges(path)] == ["a", "b"]
    assert KEY not in repr(a) + str(a) + repr(vars(a))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = [", "this is not TOML"),
        ("x = 1", "no judges; expected a table"),
        ("[judges.b]\nmodel = 'm'", "no judge 'a'; there are b"),
        ("[judges.a]\nmodel = 'm'", "endpoint is missing"),
        ("[judges.a]\nendpoint = 'https://x.y/v1'", "model is missing"),
        ("[judges.a]\nendpoint = 'https://x.y/v1'\nmodel = 'm'\nkey = 'sk'", "unknown setting 'key'; name the env"),
        (
            "[judges.a]\nendpoint = 'https://x.y/v1'\nmodel = 'm'\nprice_in = 'much'",
            "price_in is 'much'; expected a n",
        ),
        ("[judges.a]\nendpoint = 'https://x.y/v1'\nmodel = 'm'\nmax_tokens = 0", "max_tokens must be above 0"),
        ("[judges.a]\nendpoint = 'https://x.y/v1'\nmodel = 'm'\nprice_in = -1", "must be at least 0"),
        ("[judges.a]\nendpoint = 'https://x.y/v1'\nmodel = 'm'\nkey_env = 'NO_KEY'", "NO_KEY is empty"),
        ("[judges.a]\nendpoint = 'http://x.y/v1'\nmodel = 'm'\nkey_env = 'A_KEY'", "a key is sent only over https"),
        ("[judges.a]\nendpoint = 'http://127.0.0.1.x.y/v1'\nmodel = 'm'\nkey_env = 'A_KEY'", "a key is sent only ov"),
        ("[judges.a]\nendpoint = 'https://u:p@x.y/v1'\nmodel = 'm'", "URL must be plain"),
        ("[judges.a]\nendpoint = 'https://x.y/v1?key=1'\nmodel = 'm'", "URL must be plain"),
        ("[judges.a]\nendpoint = 'https://x.y/v1'\nmodel = 'm'\nkey_env = 'sk-planted-4711'", "name of an environ"),
        ("[judges.a]\nendpoint = 'ftp://x.y/v1'\nmodel = 'm'", "must be an https URL"),
        ("[judges.a]\nendpoint = 'https://x.y/v1'\nmodel = 'm'\nprompt = 'which?'", "the prompt has {left} 0 times"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_without_the_key(tmp_path, monkeypatch, text, problem):
    monkeypatch.setenv("A_KEY", KEY)
    monkeypatch.delenv("NO_KEY", raising=False)
    with pytest.raises(JudgeError) as caught:
        read_judges(write(tmp_path, text), ["a"])
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "[::1]", "localhost"])
def test_keys_may_go_to_this_machine(tmp_path, monkeypatch, host):
    monkeypatch.setenv("A_KEY", KEY)
    text = f"[judges.a]\nendpoint = 'http://{host}:8000/v1'\nmodel = 'm'\nkey_env = 'A_KEY'"
    assert len(read_judges(write(tmp_path, text))) == 1


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_judges(tmp_path / "none.toml")


def test_a_judge_is_any_callable():
    assert Judge("a", lambda prompt: "left", 0.5).worst_cost(None) == 0.5
    assert Judge("a", lambda prompt: "left", lambda prompt: 2).worst_cost(None) == 2.0
    for wrong in (lambda: Judge("", len), lambda: Judge("a", "text"), lambda: Judge("a", len, concurrency=0)):
        with pytest.raises(JudgeError):
            wrong()
