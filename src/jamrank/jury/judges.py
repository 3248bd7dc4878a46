"""Judges: any callable, or a model behind an OpenAI-compatible endpoint that a TOML file describes."""

from __future__ import annotations

import asyncio
import inspect
import ipaddress
import os
import re
import tomllib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jamrank.errors import JudgeError
from jamrank.io.documents import load_text
from jamrank.jury.prompts import Prompt, Template, check_template


@dataclass(frozen=True)
class Reply:
    """The reply of a judge.

    Attributes
    ----------
    text : str
        The raw reply.
    cost : float, optional
        What it cost; all that was reserved where that is not known.
    refused : bool
        Whether the service reports a refusal, independent of the text.
    tokens_in, tokens_out : int, optional
    """

    text: str
    cost: float | None = None
    refused: bool = False
    tokens_in: int | None = None
    tokens_out: int | None = None


class JudgeFailure(Exception):  # noqa: N818 - it is no error of the user's, and never leaves the jury
    """A failed request, and what to do about it.

    reason: What happened, in a few words; without secrets.
    retry: Whether the same request may succeed later.
    after: The seconds to wait that the service asked for.
    cost: Cost of the failed request; None if unknown, then the reserved amount counts.
    fatal: Whether every other request would fail in the same way.
    """

    def __init__(
        self,
        reason: str,
        *,
        retry: bool = False,
        after: float | None = None,
        cost: float | None = None,
        fatal: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason, self.retry, self.after, self.cost, self.fatal = reason, retry, after, cost, fatal


@dataclass(frozen=True)
class Judge:
    """A judge: any function of a prompt, sync or async.

    Attributes
    ----------
    name : str
        The annotator under which its votes are kept.
    ask : callable
        Takes a :class:`Prompt`; returns the reply as text (``"left"``, ``"right"``, ``"tie"``, ``"refuse"``, or as
        the prompt asks) or as a :class:`Reply`. A plain function runs in a thread.
    cost : float or callable
        The largest possible cost of a call: a number, or a function of the prompt.
    template : Template
        The words around the answers.
    concurrency : int
        Calls at the same time.
    per_minute : float, optional
        Calls in a minute.
    family : str, optional
        Its model family; the audit measures its preference for answers of that family.
    sees_images : bool
    model : str
        Description of the model; stored replies of another model are not used.
    usual_cost : callable, optional
        Expected cost of a call, for estimates; by default the largest possible one.
    """

    name: str
    ask: Callable[[Prompt], str | Reply | Awaitable[str | Reply]]
    cost: float | Callable[[Prompt], float] = 0.0
    template: Template = field(default_factory=Template)
    concurrency: int = 8
    per_minute: float | None = None
    family: str | None = None
    sees_images: bool = False
    model: str = ""
    usual_cost: Callable[[Prompt], float] | None = None

    def __post_init__(self) -> None:
        if not self.name or not callable(self.ask):
            raise JudgeError("a judge needs a name and a function to ask")
        if self.concurrency < 1 or (self.per_minute is not None and not self.per_minute > 0):
            raise JudgeError(f"judge {self.name}: concurrency and per_minute must be above 0")
        check_template(self.template, f"judge {self.name}")

    def worst_cost(self, prompt: Prompt) -> float:
        """Return the largest possible cost of a call."""
        return float(self.cost(prompt) if callable(self.cost) else self.cost)

    def likely_cost(self, prompt: Prompt) -> float:
        """Return the expected cost of a call."""
        return self.worst_cost(prompt) if self.usual_cost is None else float(self.usual_cost(prompt))


async def reply_of(judge: Judge, prompt: Prompt) -> Reply:
    """Ask a judge, sync or async; any exception counts as a failure."""
    try:
        if inspect.iscoroutinefunction(judge.ask):
            answer: Any = await judge.ask(prompt)
        else:
            answer = await asyncio.to_thread(judge.ask, prompt)
            if inspect.isawaitable(answer):
                answer = await answer
    except (JudgeFailure, asyncio.CancelledError):
        raise
    except Exception as error:
        raise JudgeFailure(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}") from None
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, str):
        return Reply(answer)
    raise JudgeFailure(f"the judge returned {type(answer).__name__}; expected a text or a Reply", fatal=True)


class Secret:
    """An API key that is never shown in text."""

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the key."""
        return self._value

    def scrub(self, text: str) -> str:
        """Return a text without the key."""
        return text.replace(self._value, "***") if self._value else text

    def __repr__(self) -> str:
        return "Secret(***)"


@dataclass(frozen=True)
class Endpoint:
    """A model behind an OpenAI-compatible endpoint, as a TOML file describes it.

    Attributes
    ----------
    endpoint : str
        The base URL, such as ``https://api.example.com/v1``; https, or http on this machine.
    model : str
        The name of the model there.
    key_env : str, optional
        The environment variable that holds the key. The key itself is never written anywhere.
    prompt, system : str, optional
        The template; by default the built-in one. ``prompt_file`` names a file instead.
    temperature : float
    max_tokens : int
        The longest reply.
    price_in, price_out : float
        For a million tokens, in any one currency.
    price_image : float
        The most that one image costs.
    schema : bool
        Whether the endpoint understands a JSON schema for the reply.
    concurrency : int
    per_minute : float, optional
        Requests in a minute.
    timeout : float
        Seconds to wait for a reply.
    family : str, optional
    sees_images : bool
    seed : int, optional
    """

    endpoint: str
    model: str
    key_env: str | None = None
    prompt: str | None = None
    prompt_file: str | None = None
    system: str | None = None
    temperature: float = 0.0
    max_tokens: int = 256
    price_in: float = 0.0
    price_out: float = 0.0
    price_image: float = 0.0
    schema: bool = True
    concurrency: int = 8
    per_minute: float | None = None
    timeout: float = 120.0
    family: str | None = None
    sees_images: bool = False
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """The host to which answers are sent."""
        return urlsplit(self.endpoint).hostname or ""

    def template(self, folder: Path) -> Template:
        """Return the words around the answers."""
        prompt = self.prompt
        if self.prompt_file is not None:
            prompt = load_text(folder / self.prompt_file)
        given = {"prompt": prompt, "system": self.system}
        return Template(**{name: value for name, value in given.items() if value is not None})

    def key(self) -> Secret:
        """Return the key from the environment; empty where none is needed."""
        if self.key_env is None:
            return Secret("")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", self.key_env):  # perhaps the key itself: not shown
            raise JudgeError(f"key_env for {self.host} must be the name of an environment variable, never the key")
        value = os.environ.get(self.key_env, "").strip()
        if not value:
            raise JudgeError(f"the environment variable {self.key_env} is empty; put the key for {self.host} there")
        return Secret(value)


def read_judges(path: str | os.PathLike[str], names: Sequence[str] = ()) -> list[Judge]:
    """Read judges from a TOML file with a table ``[judges.NAME]`` for each; see :class:`Endpoint` for its settings.

    Parameters
    ----------
    path : path-like
        The file.
    names : sequence of str
        Which judges; by default all.

    Raises
    ------
    JudgeError
        If the file is not TOML, a judge is missing or described wrongly, a key is not in the environment, or would
        travel over http to another machine.
    """
    return parse_judges(load_text(path), str(path), names, Path(path).parent)


def parse_judges(text: str, where: str, names: Sequence[str] = (), folder: Path | None = None) -> list[Judge]:
    """Read judges from a text as :func:`read_judges` does; prompt files are in the folder."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise JudgeError(f"{where}: this is not TOML ({' '.join(str(error).split())})") from None
    tables = content.get("judges")
    if not isinstance(tables, dict) or not tables:
        raise JudgeError(f"{where}: no judges; expected a table [judges.NAME] with endpoint and model")
    unknown = [name for name in names if name not in tables]
    if unknown:
        raise JudgeError(f"{where}: no judge {unknown[0]!r}; there are {', '.join(tables)}")
    return [_judge(name, tables[name], f"{where}: judge {name}", folder or Path()) for name in names or tables]


def _judge(name: str, table: Any, where: str, folder: Path) -> Judge:
    from jamrank.jury.client import Client

    endpoint = _endpoint(table, where)
    key = endpoint.key()
    check_transport(endpoint, bool(key.reveal()), where)
    template = endpoint.template(folder)
    check_template(template, where)
    client = Client(endpoint, key)
    return Judge(
        name,
        client.ask,
        client.worst_cost,
        template,
        endpoint.concurrency,
        endpoint.per_minute,
        endpoint.family,
        endpoint.sees_images,
        f"{endpoint.model} temperature={endpoint.temperature:g} seed={endpoint.seed}",
        client.usual_cost,
    )


def _endpoint(table: Any, where: str) -> Endpoint:
    if not isinstance(table, dict):
        raise JudgeError(f"{where}: expected a table with endpoint and model")
    known = {one.name: one for one in fields(Endpoint)}
    strange = [key for key in table if key not in known]
    if strange:
        hint = "; name the environment variable that holds it with key_env" if "key" in strange[0].lower() else ""
        raise JudgeError(f"{where}: unknown setting {strange[0]!r}{hint}; known are {', '.join(known)}")
    lacking = [key for key in ("endpoint", "model") if not isinstance(table.get(key), str) or not table[key]]
    if lacking:
        raise JudgeError(f"{where}: {lacking[0]} is missing")
    for key, value in table.items():
        if not _fits(value, str(known[key].type)):
            raise JudgeError(f"{where}: {key} is {value!r}; expected {_expected(str(known[key].type))}")
    if any(table.get(key, 0) < 0 for key in ("price_in", "price_out", "price_image", "temperature")):
        raise JudgeError(f"{where}: prices and temperature must be at least 0")
    if table.get("timeout", 1) <= 0 or table.get("max_tokens", 1) < 1:
        raise JudgeError(f"{where}: timeout and max_tokens must be above 0")
    return Endpoint(**table)


def _fits(value: Any, kind: str) -> bool:
    if kind.startswith("float"):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind.startswith("int"):
        return isinstance(value, int) and not isinstance(value, bool)
    if kind.startswith("bool"):
        return isinstance(value, bool)
    return isinstance(value, dict) if kind.startswith("Mapping") else isinstance(value, str)


def _expected(kind: str) -> str:
    names = {
        "float": "a number",
        "int": "a whole number",
        "bool": "true or false",
        "Mapping": "a table",
        "str": "a text",
    }
    return next(text for name, text in names.items() if kind.startswith(name))


def check_transport(endpoint: Endpoint, keyed: bool, where: str) -> None:
    """Refuse an endpoint to which a key would be sent unencrypted, or whose URL contains a secret."""
    parts = urlsplit(endpoint.endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise JudgeError(f"{where}: the endpoint must be an https URL (http on this machine)")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise JudgeError(
            f"{where}: the endpoint's URL must be plain; put the key into an environment variable (key_env)"
        )
    if keyed and parts.scheme == "http" and not is_loopback(parts.hostname):
        raise JudgeError(f"{where}: a key is sent only over https, or to this machine; {parts.hostname} is neither")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
