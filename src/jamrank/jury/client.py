"""One request to an OpenAI-compatible endpoint, and what its answer means."""

from __future__ import annotations

import email.utils
import json
import time
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from jamrank.collect.items import image_url
from jamrank.jury.judges import Endpoint, JudgeFailure, Reply, Secret, is_loopback
from jamrank.jury.prompts import VERDICT_SCHEMA, Prompt

# A token is at least a byte; roles and separators of a message add a few.
_OVERHEAD = 64
_LARGEST_REPLY = 4_000_000
_USUAL_REPLY = 20
_MILLION = 1_000_000
# The status codes after which the same request may succeed.
_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_BUSY, _BUSY_SECONDS = {429, 529}, 5.0
_FATAL = {401, 402, 403, 404, 405, 407}


class Client:
    """Asks one endpoint; its connections belong to the event loop in which it was first used."""

    def __init__(self, endpoint: Endpoint, key: Secret) -> None:
        self._endpoint, self._key = endpoint, key
        self._url = endpoint.endpoint.rstrip("/") + "/chat/completions"
        self._session: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"Client({self._endpoint.endpoint!r}, {self._endpoint.model!r})"

    def worst_cost(self, prompt: Prompt) -> float:
        """Return the largest possible cost of a prompt: every byte a token, and the longest reply."""
        endpoint = self._endpoint
        size = len(prompt.system.encode()) + len(prompt.text.encode()) + _OVERHEAD
        tokens = size * endpoint.price_in + endpoint.max_tokens * endpoint.price_out
        return tokens / _MILLION + len(prompt.images) * endpoint.price_image

    def usual_cost(self, prompt: Prompt) -> float:
        """Return the expected cost of a prompt: four bytes per token, and a short reply."""
        endpoint = self._endpoint
        size = (len(prompt.system.encode()) + len(prompt.text.encode())) / 4
        reply = min(_USUAL_REPLY, endpoint.max_tokens)
        tokens = size * endpoint.price_in + reply * endpoint.price_out
        return tokens / _MILLION + len(prompt.images) * endpoint.price_image

    async def ask(self, prompt: Prompt) -> Reply:
        """Send a prompt.

        Raises JudgeFailure: If no reply came.
        """
        if self._session is None:
            self._session = self._open()
        try:
            async with self._session.post(self._url, json=self._body(prompt), allow_redirects=False) as response:
                return self._reply(response.status, response.headers.get("Retry-After"), await _content(response))
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            # Nothing was sent: nothing was paid.
            raise JudgeFailure(self._broken("no connection", error), retry=True, cost=0.0) from None
        except (aiohttp.ClientError, TimeoutError) as error:
            raise JudgeFailure(self._broken("the connection broke", error), retry=True) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        endpoint, key = self._endpoint, self._key.reveal()
        parts = urlsplit(endpoint.endpoint)
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=aiohttp.ClientTimeout(total=endpoint.timeout, sock_connect=min(endpoint.timeout, 20.0)),
            cookie_jar=aiohttp.DummyCookieJar(),
            # A proxy of the environment would see http requests to this machine, including the key.
            trust_env=parts.scheme == "https" and not is_loopback(parts.hostname or ""),
        )

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        endpoint = self._endpoint
        content: Any = prompt.text
        if prompt.images:
            pictures = [{"type": "image_url", "image_url": {"url": image_url(item)}} for item in prompt.images]
            content = [{"type": "text", "text": prompt.text}, *pictures]
        body: dict[str, Any] = {
            "model": endpoint.model,
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": content}],
            "temperature": endpoint.temperature,
            "max_tokens": endpoint.max_tokens,
            **endpoint.extra,
        }
        if endpoint.schema:
            body["response_format"] = VERDICT_SCHEMA
        if endpoint.seed is not None:
            body["seed"] = endpoint.seed
        return body

    def _reply(self, status: int, retry_after: str | None, body: bytes) -> Reply:
        if status != 200:
            if 300 <= status < 400:
                raise JudgeFailure(f"HTTP {status}: a redirect, which is not followed", cost=0.0, fatal=True)
            reason = f"HTTP {status}: {self._message(body)}"
            after = _retry_after(retry_after)
            if after is None and status in _BUSY:
                after = _BUSY_SECONDS
            raise JudgeFailure(reason, retry=status in _AGAIN, after=after, cost=0.0, fatal=status in _FATAL)
        try:
            content: Any = json.loads(body) if len(body) <= _LARGEST_REPLY else None
            choice = content["choices"][0]
            message = choice["message"]
            text, refusal = message.get("content") or "", message.get("refusal")
            usage = content.get("usage") or {}
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            # An answer outside the protocol, perhaps paid: ask again.
            raise JudgeFailure("a reply that is not in the protocol", retry=True) from None
        if not isinstance(text, str):
            text = json.dumps(text)
        tokens_in, tokens_out = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        return Reply(
            self._key.scrub(refusal if refusal and not text else text),
            self._cost(tokens_in, tokens_out),
            bool(refusal) or choice.get("finish_reason") == "content_filter",
            tokens_in,
            tokens_out,
        )

    def _cost(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        endpoint = self._endpoint
        if endpoint.price_in == endpoint.price_out == endpoint.price_image == 0:
            return 0.0
        if tokens_in is None or tokens_out is None:
            return None
        return (tokens_in * endpoint.price_in + tokens_out * endpoint.price_out) / _MILLION

    def _message(self, body: bytes) -> str:
        """Return the message of the service, shortened and without the key, which some services repeat."""
        try:
            message = json.loads(body)["error"]
            message = message["message"] if isinstance(message, dict) else message
        except (ValueError, TypeError, KeyError):
            message = body.decode(errors="replace")
        return " ".join(self._key.scrub(str(message)).split())[:200] or "no reason given"

    def _broken(self, what: str, error: Exception) -> str:
        detail = self._key.scrub(str(error)) or type(error).__name__
        return f"{what} to {self._endpoint.host} ({' '.join(detail.split())[:120]})"


async def _content(response: aiohttp.ClientResponse) -> bytes:
    """Return the body, no more than is ever read of one."""
    body = bytearray()
    async for part in response.content.iter_any():
        body += part
        if len(body) > _LARGEST_REPLY:
            response.close()
            break
    return bytes(body)


def _count(usage: Any, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and value >= 0 else None


def _retry_after(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header, which has a number or a date."""
    if not value:
        return None
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass
    try:
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (TypeError, ValueError):
        return None
