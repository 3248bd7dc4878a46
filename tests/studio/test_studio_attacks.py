"""Attacks, tried and refused; and what a page gives away."""

from __future__ import annotations

import json
import logging
import time

import httpx
import pytest

from jamrank.collect.schema import annotators, events
from jamrank.studio import people
from jamrank.studio.access import RateLimit
from jamrank.studio.study import Study
from jamrank.studio.tables import INVITATIONS, SESSIONS

NASTY = [
    "' OR 1=1 --",
    "'; DROP TABLE events; --",
    '"><script>alert(1)</script>',
    "<img src=x onerror=alert(1)>",
    "{{ 7 * 7 }}",
    "../../etc/passwd",
    "%00",
    "\u202egnp.exe",
    "=cmd|' /C calc'!A0",
    "a" * 5000,
]


def test_guessed_expired_and_revoked_links_are_refused(running):
    client = running.client()
    for token in ["", "x", "0" * 43, "../admin", *NASTY[:3]]:
        assert client.get("/join/" + token.replace("/", "%2F") + "x").status_code == 404
        assert client.post("/join", data={"token": token}).status_code == 404
    write = running.studio.database.write
    expired = write(lambda c: people.invite(c, "open", most=5, seconds=-1))
    assert client.post("/join", data={"token": expired}).status_code == 404
    judge, link = running.judge_link()
    write(lambda c: people.revoke_links(c, judge))
    assert client.get(link).status_code == 404
    assert client.post("/join", data={"token": link.rpartition("/")[2]}).status_code == 404
    # An admin's link lets no judge in, and the other way round.
    assert client.post("/join", data={"token": running.admin_token}).status_code == 404
    _, link = running.judge_link()
    assert client.post("/admin/enter", data={"token": link.rpartition("/")[2]}).status_code == 404
    assert not client.cookies


def test_an_open_link_lets_in_as_many_as_it_may_and_the_same_browser_once(running):
    link = running.open_link(2)
    first = running.judge(link)
    again = first.client.post("/join", data={"token": link.rpartition("/")[2]})
    assert again.status_code == 303
    running.judge(link)
    assert running.client().post("/join", data={"token": link.rpartition("/")[2]}).status_code == 403
    assert running.client().get(link).status_code == 403
    with running.studio.database.read() as connection:
        assert len(people.judges(connection)) == 2


def test_opening_a_link_changes_nothing(running):
    _, link = running.judge_link()
    before = _rows(running)
    client = running.client()
    for path in [link, "/vote", "/admin", f"/admin/enter/{running.admin_token}", "/", "/health", "/undo", "/next"]:
        client.get(path)
        client.head(path)
    assert _rows(running) == before
    assert not client.cookies


def _rows(running):
    with running.studio.database.read() as connection:
        return [
            [tuple(row) for row in connection.execute(table.select())]
            for table in (events, annotators, INVITATIONS, SESSIONS)
        ]


def test_only_hashes_of_secrets_are_stored(running, tmp_path):
    judge, link = running.judge_link()
    client = running.judge(link).client
    session = client.cookies["jamrank-judge"]
    running.studio.database.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("study.sqlite*"))
    for secret in (link.rpartition("/")[2], session, running.admin_token):
        assert secret.encode() not in stored
    assert judge.encode() in stored


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(running):
    token = running.judge_link()[1].rpartition("/")[2]
    cookie = running.client().post("/join", data={"token": token}).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    admin = running.client().post("/admin/enter", data={"token": running.admin_token}).headers["set-cookie"]
    assert "SameSite=strict" in admin


def test_behind_https_cookies_are_bound_to_the_host(run_studio, images):
    running = run_studio(images, public="https://study.example.org")
    token = running.judge_link()[1].rpartition("/")[2]
    answer = running.client().post("/join", data={"token": token})
    assert answer.headers["set-cookie"].startswith("__Host-jamrank-judge=")
    assert "Secure" in answer.headers["set-cookie"]
    assert "strict-transport-security" in answer.headers


def test_forms_of_other_sites_are_refused(running):
    judge = running.judge()
    key = judge.state()["open"][0]["key"]
    form = {"key": key, "answer": "left"}
    assert judge.client.post("/vote", data=form).status_code == 403
    assert judge.client.post("/vote", data={**form, "csrf": "0" * 64}).status_code == 403
    assert judge.client.post("/vote", data={**form, "csrf": running.judge().csrf}).status_code == 403
    right = {**form, "csrf": judge.csrf}
    for header in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert judge.client.post("/vote", data=right, headers=header).status_code == 403
    token = running.judge_link()[1].rpartition("/")[2]
    assert (
        running.client().post("/join", data={"token": token}, headers={"Origin": "https://evil.example"}).status_code
        == 403
    )
    assert running.votes().height == 0
    assert judge.client.post("/vote", data=right).status_code == 303
    assert running.votes().height == 1


def test_forged_votes_replays_and_the_leases_of_others(running):
    first, second = running.judge(), running.judge()
    key = first.state()["open"][0]["key"]
    assert second.vote(key).status_code == 404
    assert first.vote("no-such-key").status_code == 404
    for said in ["LEFT", "both", "", "left; DROP TABLE events", "left:9", "left:-1", "left:x"]:
        assert first.vote(key, said).status_code == 400
    assert running.client().post("/vote", data={"key": key, "answer": "left"}).status_code == 401
    assert running.votes().height == 0
    replies = [first.vote(key, said) for said in ("left", "left", "right")]
    assert [reply.status_code for reply in replies] == [200, 200, 200]
    assert running.votes()["winner"].to_list() == ["left"]
    # An undo that is sent again takes nothing else back.
    first.vote(first.state()["open"][0]["key"], "right")
    last = first.state()["undo"]
    assert first.post("/undo", key=last).status_code == 200
    assert first.post("/undo", key=last).status_code == 200
    assert running.votes()["winner"].to_list() == ["left"]
    assert first.post("/undo", key=key).status_code in (200, 409)
    assert second.post("/undo", key=key).status_code == 409


def first_open(judge) -> dict:
    """Return the first pair that a judge is asked, as soon as there is one."""
    for _ in range(100):
        if found := judge.state()["open"]:
            return found[0]
        time.sleep(0.1)
    raise AssertionError("nothing was asked in ten seconds")


def test_a_judge_sees_neither_ranking_nor_others_nor_names(running):
    judge = running.judge(running.judge_link("Ann Winter")[1])
    for path in ["/admin/judges", "/admin/items", "/admin/settings", "/admin/export", "/admin"]:
        assert "csrf" not in judge.client.get(path).text
        assert judge.client.get(path).status_code == 401
    for path in ["/admin/live", "/admin/events", "/admin/export/votes.csv", "/metrics"]:
        assert judge.client.get(path).status_code == 401
    text = judge.client.get("/vote").text
    assert "photo-" not in text
    assert "Winter" not in text  # three letters may be part of a random key
    source = first_open(judge)["left"].partition('src="')[2].partition('"')[0]
    answer = judge.client.get(source)
    assert answer.headers["content-type"] == "image/png"
    assert "photo-" not in str(answer.headers)


def test_media_need_a_session_and_paths_lead_nowhere(running):
    judge = running.judge()
    source = judge.state()["open"][0]["left"].partition('src="')[2].partition('"')[0]
    assert running.client().get(source).status_code == 401
    key = source.split("/")[2]
    for path in [
        f"/media/{key}/1",
        f"/media/{key}/99999999999999999999",
        f"/media/{key}/..%2f..%2fstudy.sqlite",
        "/media/..%2f..%2fetc%2fpasswd/0",
        "/media/photo-1/0",
        "/static/..%2fstudy.py",
        "/static/../app.py",
    ]:
        assert judge.client.get(path).status_code == 404, path


def test_every_field_may_hold_anything(running):
    admin, judge = running.admin(), running.judge()
    for text in NASTY:
        for path in ("/vote", "/undo"):
            assert judge.post(path, key=text, answer=text, grade=text, ms=text).status_code in (400, 404, 409)
        assert admin.post("/admin/state", state=text).status_code == 400
        assert admin.post("/admin/judge", judge=text, action="revoke").status_code == 200
        assert admin.post("/admin/item", item=text, action="retire").status_code == 303
        assert admin.post("/admin/invite", kind="one", names=text).status_code == 200
        page = admin.get("/admin/judges").text
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert admin.post("/admin/invite", kind="open", most=text).status_code == 400
        answer = admin.client.post("/admin/items", data={"csrf": admin.csrf, "text": text}, files={"x": b""})
        assert answer.status_code in (200, 400)
        assert "<script>alert" not in answer.text
    assert running.client().get("/health").json() == {"status": "ok"}


def test_bodies_that_are_no_forms(running):
    judge = running.judge()
    headers = {"X-CSRF-Token": judge.csrf}
    for kind, body in [
        ("application/json", b"{"),
        ("application/json", b"[1]"),
        ("application/json", b"\xff"),
        ("application/json", b"[" * 100_000),
        ("application/x-www-form-urlencoded", b"&".join(b"a=b" for _ in range(1000))),
        ("text/plain", b"key=x"),
        ("multipart/form-data; boundary=x", b"--x\r\n"),
    ]:
        answer = judge.client.post("/vote", content=body, headers={**headers, "Content-Type": kind})
        assert answer.status_code in (400, 415), kind


def test_huge_requests_are_refused_unread(running):
    judge, admin = running.judge(), running.admin()

    def status(client, path, **body):
        # A server that does not read on may close the connection before its answer was read.
        try:
            return client.post(path, **body).status_code
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            return 413

    def endless():
        for _ in range(100):
            yield b"x" * 10_000

    assert status(judge.client, "/vote", content=b"x" * 400_000) == 413
    assert status(judge.client, "/vote", content=endless()) == 413
    running.studio.upload_bytes = 100_000
    files = {"files": ("big.png", b"\x89PNG\r\n\x1a\n" + b"0" * 200_000, "image/png")}
    assert status(admin.client, "/admin/items", data={"csrf": admin.csrf}, files=files) == 413
    assert len(running.studio.view().items) == 6


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("page.html", b"<script>alert(1)</script>"),
        ("photo.png", b"<script>alert(1)</script>"),
        ("photo.jpg", b"\x89PNG\r\n\x1a\n"),
        ("drawing.svg", b"<html/>"),
        ("drawing.svg", b'<!DOCTYPE svg [<!ENTITY a "aaaa">]><svg xmlns="http://www.w3.org/2000/svg">&a;</svg>'),
        ("text.md", b"\xff\xfe"),
        ("program.exe", b"MZ"),
        ("noending", b"x"),
    ],
)
def test_uploads_that_are_not_what_they_say_are_refused(running, name, content):
    admin = running.admin()
    files = {"files": (name, content, "image/png")}
    answer = admin.client.post("/admin/items", data={"csrf": admin.csrf}, files=files)
    assert answer.status_code == 400
    assert "<script>alert" not in answer.text
    assert len(running.studio.view().items) == 6


def test_an_upload_is_kept_under_a_name_of_our_own(running, images):
    admin = running.admin()
    content = (images / "photo-1.png").read_bytes()
    name = "..%2f..\\..\\<img src=x onerror=alert(1)>.png"
    files = {"files": (name, content, "image/png")}
    answer = admin.client.post("/admin/items", data={"csrf": admin.csrf}, files=files)
    assert answer.status_code == 200
    assert "<img src=x" not in answer.text
    kept = list((images / "uploads").iterdir())
    assert len(kept) == 1
    assert kept[0].suffix == ".png"
    assert "alert" not in kept[0].name


def test_pages_carry_the_headers_that_protect_them(running):
    for path in ["/vote", "/admin", "/nowhere", "/static/vote.js", "/health"]:
        headers = running.client().get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"


def test_other_hosts_are_not_answered(running):
    client = running.client()
    for host in ["evil.example", "evil.example:8000", "", "127.0.0.1.evil.example", "[::1", "localhost.evil"]:
        assert client.get("/health", headers={"Host": host}).status_code == 421
    assert client.get("/health", headers={"Host": "localhost"}).status_code == 200


def test_a_judge_who_is_too_fast_waits_and_others_do_not(running):
    running.studio.judge_limit = RateLimit(per_second=0.001, burst=3)
    first, second = running.judge(), running.judge()
    answers = [first.post("/next") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert answers[-1].headers["retry-after"]
    assert second.post("/next").status_code == 200


def test_passwords_are_slow_to_guess(run_studio, images):
    from jamrank.studio.access import hashed_password
    from jamrank.studio.catalogue import set_setting

    running = run_studio(images)
    client = running.client()
    assert client.post("/admin/login", data={"password": ""}).status_code == 403
    running.studio.database.write(lambda c: set_setting(c, "password", hashed_password("correct horse")))
    assert "password" in client.get("/admin").text
    assert client.post("/admin/login", data={"password": "correct horse"}).status_code == 303
    running.studio.login_limit = RateLimit(per_second=0.001, burst=3)
    answers = [running.client().post("/admin/login", data={"password": f"guess {n}"}) for n in range(5)]
    assert [answer.status_code for answer in answers] == [403, 403, 403, 429, 429]


def test_a_revoked_judge_is_out_and_a_deleted_one_unknown(running):
    judge, link = running.judge_link("Ann Example")
    client = running.judge(link)
    client.vote(client.state()["open"][0]["key"])
    admin = running.admin()
    admin.post("/admin/judge", judge=judge, action="revoke")
    assert client.post("/next").status_code == 401
    admin.post("/admin/judge", judge=judge, action="admit")
    assert client.post("/next").status_code == 200
    admin.post("/admin/judge", judge=judge, action="delete")
    assert client.post("/next").status_code == 401
    assert running.client().get(link).status_code == 404
    votes = running.votes()
    assert votes["annotator"].to_list() == [judge]
    assert "Ann" not in admin.get("/admin/judges").text
    assert "Ann" not in json.dumps([str(row) for row in running.events()])


def test_logs_hold_no_tokens_names_or_addresses(running, caplog):
    with caplog.at_level(logging.INFO, logger="jamrank.studio"):
        logging.getLogger("jamrank.studio").propagate = True
        _, link = running.judge_link("Ann")
        running.client().get(link)
        running.judge(link)
        running.client().get(f"/admin/enter/{running.admin_token}")
        time.sleep(0.1)
    records = [json.dumps(getattr(record, "facts", {})) for record in caplog.records]
    assert any('"endpoint": "invitation"' in record for record in records)
    for secret in (link.rpartition("/")[2], running.admin_token, "Ann", "127.0.0.1"):
        assert not any(secret in record for record in records)


def test_health_and_metrics(running):
    client = running.client()
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/metrics").status_code == 401
    running.judge()
    text = client.get("/metrics", headers={"Authorization": f"Bearer {running.admin_token}"}).text
    assert 'jamrank_requests_total{endpoint="join",status="303"} 1' in text
    assert "jamrank_events 2" in text


def test_stored_scripts_in_items_do_not_run(run_studio, tmp_path):
    items = tmp_path / "items.jsonl"
    rows = [
        {"item": "<script>alert(1)</script>", "text": "<script>alert(1)</script>"},
        {"item": "b", "markdown": "<script>alert(1)</script> [x](javascript:alert(1)) ![i](http://x/y.png)"},
        {"item": "c", "text": "c", "alt": '"><script>alert(1)</script>'},
    ]
    items.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    running = run_studio(items, Study(title="<script>alert(1)</script>", question="<b>Which?</b>"))
    judge, admin = running.judge(), running.admin()
    pages = [judge.client.get("/vote").text, admin.get("/admin/items").text, admin.get("/admin").text]
    pages += [pair[side] for pair in judge.state()["open"] for side in ("left", "right")]
    for page in pages:
        assert "<script>alert" not in page
        assert "javascript:alert" not in page.replace("(javascript:alert(1))", "")
        assert '<img src="http://x' not in page
