from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from jamrank.collect import Item
from jamrank.jury import JudgeFailure, Template, render
from jamrank.jury.client import Client, _retry_after
from jamrank.jury.judges import Endpoint, Secret
from jamrank.jury.simulated import Faults, SimulatedJudge, SimulatedServer, marked

KEY = "sk-planted-4711"
PROMPT = render(
    Template(), Item("a", text=marked("good", 3)), Item("b", text=marked("bad", -3)), question="Why?", salt="s"
)


def ask(server_url, prompt=PROMPT, key=KEY, **settings):
    async def once():
        client = Client(Endpoint(server_url, "j", **settings), Secret(key))
        try:
            return await client.ask(prompt)
        finally:
            await client.close()

    return asyncio.run(once())


class Scripted:
    """A server that answers every request with the same bytes."""

    def __init__(self, answer: bytes) -> None:
        self.answer, self.seen = answer, []

    async def _serve(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        self.seen.append(head)
        writer.write(self.answer)
        await writer.drain()
        writer.close()

    def ask(self, **settings):
        async def once():
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            client = Client(Endpoint(f"http://127.0.0.1:{port}/v1", "j", **settings), Secret(KEY))
            try:
                return await client.ask(PROMPT)
            finally:
                await client.close()
                server.close()

        return asyncio.run(once())


def http(status: int, body: object, headers: str = "") -> bytes:
    text = body if isinstance(body, str) else json.dumps(body)
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(text.encode())}\r\n{headers}\r\n{text}".encode()


def completion(content, usage=None, **message) -> bytes:
    choice = {"message": {"content": content, **message}, "finish_reason": message.pop("finish", "stop")}
    return http(200, {"choices": [choice], "usage": usage})


def test_a_reply_comes_with_its_cost():
    with SimulatedServer([SimulatedJudge("j")], key=KEY) as server:
        reply = ask(server.url, price_in=1000.0, price_out=2000.0)
    assert json.loads(reply.text)["verdict"] == "left"
    assert reply.cost == pytest.approx((reply.tokens_in * 1000 + reply.tokens_out * 2000) / 1e6)
    client = Client(Endpoint("http://127.0.0.1/v1", "j", price_in=1000.0, price_out=2000.0), Secret(""))
    assert reply.cost < client.worst_cost(PROMPT)
    assert client.usual_cost(PROMPT) < client.worst_cost(PROMPT)


def test_without_usage_the_cost_is_not_known_and_without_prices_it_is_nothing():
    assert Scripted(completion("left")).ask(price_in=1.0).cost is None
    assert Scripted(completion("left")).ask().cost == 0.0


def test_refusals_are_told_by_the_service():
    assert Scripted(completion(None, refusal="I cannot")).ask().refused
    assert Scripted(completion(None, refusal="I cannot")).ask().text == "I cannot"
    assert not Scripted(completion("left")).ask().refused


@pytest.mark.parametrize(
    ("answer", "retry", "fatal", "said"),
    [
        (http(429, {"error": {"message": "slow down"}}, "Retry-After: 7\r\n"), True, False, "HTTP 429: slow down"),
        (http(529, ""), True, False, "HTTP 529: no reason given"),
        (http(500, "oops"), True, False, "HTTP 500: oops"),
        (http(503, ""), True, False, "HTTP 503: no reason given"),
        (http(401, {"error": {"message": f"bad key {KEY}"}}), False, True, "HTTP 401: bad key ***"),
        (http(404, {"error": "no model"}), False, True, "HTTP 404: no model"),
        (http(400, {"error": {"message": "too long"}}), False, False, "HTTP 400: too long"),
        (http(200, "<html>"), True, False, "a reply that is not in the protocol"),
        (http(200, {"choices": []}), True, False, "a reply that is not in the protocol"),
        (http(200, [1]), True, False, "a reply that is not in the protocol"),
        (b"", True, False, "the connection broke"),
    ],
)
def test_failures_say_what_to_do_and_never_show_the_key(answer, retry, fatal, said):
    with pytest.raises(JudgeFailure) as caught:
        Scripted(answer).ask()
    failure = caught.value
    assert (failure.retry, failure.fatal) == (retry, fatal)
    assert failure.reason.startswith(said)
    assert KEY not in failure.reason
    assert failure.after == (7.0 if b"Retry-After" in answer else 5.0 if b" 529 " in answer else None)
    # Nobody knows whether a broken connection or a strange reply was paid.
    assert failure.cost == (None if answer == b"" or b" 200 " in answer else 0.0)


def test_redirects_are_not_followed():
    with SimulatedServer([SimulatedJudge("j")]) as elsewhere:
        script = Scripted(http(307, "", f"Location: {elsewhere.url}/chat/completions\r\n"))
        with pytest.raises(JudgeFailure, match="a redirect, which is not followed") as caught:
            script.ask()
        assert caught.value.fatal
        assert elsewhere.requests == 0


def test_proxies_of_the_environment_do_not_see_what_goes_to_this_machine(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with SimulatedServer([SimulatedJudge("j")], key=KEY) as server:
        assert ask(server.url).text


def test_nobody_there_costs_nothing():
    with pytest.raises(JudgeFailure, match=r"no connection to 127\.0\.0\.1") as caught:
        ask("http://127.0.0.1:9/v1")
    assert (caught.value.retry, caught.value.cost) == (True, 0.0)


def test_faults_of_the_simulated_server():
    for faults, said in (
        (Faults(busy=1, retry_after=3), "HTTP 429"),
        (Faults(error=1), "HTTP 500"),
        (Faults(cut=1), "the connection broke"),
        (Faults(garbage=1), "a reply that is not in the protocol"),
    ):
        with SimulatedServer([SimulatedJudge("j")], faults=faults) as server, pytest.raises(JudgeFailure, match=said):
            ask(server.url)


def test_images_travel_as_data(tmp_path):
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG not really")
    item = Item("a", path=str(picture), media="image/png", details={"digest": "1"})
    prompt = render(Template(), item, Item("b", text="y"))
    body = Client(Endpoint("http://127.0.0.1/v1", "j", price_image=0.5), Secret(""))._body(prompt)
    text, image = body["messages"][1]["content"]
    assert text["text"] == prompt.text
    assert image["image_url"]["url"].startswith("data:image/png;base64,iVBORyBub3QgcmVhbGx5"[:30])
    assert Client(Endpoint("http://127.0.0.1/v1", "j", price_image=0.5), Secret("")).worst_cost(prompt) == 0.5


def test_retry_after_is_a_number_or_a_date():
    assert _retry_after("2.5") == 2.5
    assert _retry_after("-1") == 0.0
    assert _retry_after("soon") is None
    assert _retry_after(None) is None
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 50 < _retry_after(later) <= 60
