"""Judges, their invitations and their sessions in the database. Only hashes of secrets are stored."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from time import time

from sqlalchemy import Connection, bindparam, delete, func, insert, or_, select, update

from jamrank.collect.schema import annotators
from jamrank.studio.access import digest, new_token
from jamrank.studio.tables import INVITATIONS, QUEUE, SESSIONS

_JUDGE_SESSION = 90 * 86400.0
_ADMIN_SESSION = 7 * 86400.0
# Built once: building the statement takes longer than executing it.
_VALID = (
    select(SESSIONS.c.digest, SESSIONS.c.role, SESSIONS.c.judge)
    .outerjoin(annotators, annotators.c.id == SESSIONS.c.judge)
    .outerjoin(INVITATIONS, INVITATIONS.c.digest == SESSIONS.c.invitation)
    .where(
        SESSIONS.c.digest.in_(bindparam("digests", expanding=True)),
        SESSIONS.c.role == bindparam("role"),
        SESSIONS.c.expires > bindparam("now"),
        func.coalesce(annotators.c.revoked, False).is_(False),
        or_(SESSIONS.c.role != "admin", func.coalesce(INVITATIONS.c.revoked, False).is_(False)),
    )
)


@dataclass(frozen=True)
class Invitation:
    """A secret link, as it is stored."""

    digest: str
    role: str
    judge: str | None
    used: int
    most: int | None

    @property
    def used_up(self) -> bool:
        """Whether an open link has reached its limit."""
        return self.most is not None and self.used >= self.most


@dataclass(frozen=True)
class Session:
    """The session of a cookie."""

    role: str
    judge: str


@dataclass(frozen=True)
class Judge:
    """A judge, for the admin page. The id is a random pseudonym; all else is personal and can be deleted."""

    id: str
    name: str
    about: Mapping[str, str]
    revoked: bool
    deleted: bool


def invite_judge(connection: Connection, name: str = "") -> tuple[str, str]:
    """Add a judge with a personal link; return the pseudonym and the token, which is not stored."""
    judge = _new_judge(connection, name)
    return judge, invite(connection, "judge", judge=judge)


def _new_judge(connection: Connection, name: str = "") -> str:
    judge = f"judge-{secrets.token_hex(5)}"
    place = 1 + (connection.scalar(select(func.max(annotators.c.place))) or 0)
    row = {"id": judge, "place": place, "kind": "person", "name": name or None, "details": "{}", "revoked": False}
    connection.execute(insert(annotators).values(row))
    return judge


def invite(
    connection: Connection,
    role: str,
    *,
    judge: str | None = None,
    most: int | None = None,
    seconds: float | None = None,
) -> str:
    """Make a secret link and return its token."""
    token, now = new_token(), time()
    row = {
        "digest": digest(token),
        "role": role,
        "judge": judge,
        "used": 0,
        "most": most,
        "created": now,
        "expires": None if seconds is None else now + seconds,
        "revoked": False,
    }
    connection.execute(insert(INVITATIONS).values(row))
    return token


def invite_admin(connection: Connection) -> str:
    """Create a new admin link; earlier ones become invalid."""
    connection.execute(update(INVITATIONS).where(INVITATIONS.c.role == "admin").values(revoked=True))
    return invite(connection, "admin")


def find_invitation(connection: Connection, token: str) -> Invitation | None:
    """Return a link that may still be used; None for one that is unknown, revoked or expired."""
    table = INVITATIONS.c
    valid = (
        table.digest == digest(token),
        table.revoked.is_(False),
        or_(table.expires.is_(None), table.expires > time()),
    )
    row = connection.execute(
        select(table.digest, table.role, table.judge, table.used, table.most).where(*valid)
    ).one_or_none()
    return None if row is None else Invitation(*row)


def redeem(connection: Connection, invitation: Invitation, about: Mapping[str, str], consented: bool) -> str:
    """Exchange a link for a session; return the session's token, for the cookie."""
    count = update(INVITATIONS).where(INVITATIONS.c.digest == invitation.digest)
    connection.execute(count.values(used=INVITATIONS.c.used + 1))
    if invitation.role == "admin":
        return open_session(connection, "admin", "", invitation.digest)
    judge = invitation.judge or _new_judge(connection)
    known = {**({"about": dict(about)} if about else {}), **({"consented": time()} if consented else {})}
    if known:
        _change(connection, judge, details=json.dumps(known, ensure_ascii=False))
    return open_session(connection, "judge", judge, invitation.digest)


def open_session(connection: Connection, role: str, judge: str, invitation: str | None) -> str:
    """Make a session and return its token."""
    token, now = new_token(), time()
    connection.execute(delete(SESSIONS).where(SESSIONS.c.expires < now))
    lasts = _ADMIN_SESSION if role == "admin" else _JUDGE_SESSION
    row = {"digest": digest(token), "role": role, "judge": judge, "invitation": invitation, "expires": now + lasts}
    connection.execute(insert(SESSIONS).values(row))
    return token


def find_session(connection: Connection, token: str, role: str) -> Session | None:
    """Return the session of a cookie; None if it is unknown or expired, or its judge or link was revoked."""
    return valid_sessions(connection, [digest(token)], role).get(digest(token))


def valid_sessions(connection: Connection, digests: Collection[str], role: str) -> dict[str, Session]:
    """Return those of some sessions that are valid, by the hashes of their tokens."""
    wanted = {"digests": list(digests), "role": role, "now": time()}
    return {row.digest: Session(row.role, row.judge) for row in connection.execute(_VALID, wanted)}


def came_by(connection: Connection, token: str, invitation: str) -> bool:
    """Return whether a session is valid and was opened by that invitation."""
    query = select(SESSIONS.c.digest).where(SESSIONS.c.digest == digest(token), SESSIONS.c.invitation == invitation)
    return connection.scalar(query) is not None and find_session(connection, token, "judge") is not None


def _change(connection: Connection, judge: str, **values: object) -> None:
    connection.execute(update(annotators).where(annotators.c.id == judge).values(**values))


def revoke_judge(connection: Connection, judge: str, revoked: bool = True) -> None:
    """Revoke or restore a judge; the votes stay."""
    _change(connection, judge, revoked=revoked)
    connection.execute(delete(QUEUE).where(QUEUE.c.judge == judge))


def revoke_links(connection: Connection, judge: str) -> None:
    """End the links of a judge; open pages stay open."""
    connection.execute(update(INVITATIONS).where(INVITATIONS.c.judge == judge).values(revoked=True))


def revoke_open_links(connection: Connection) -> None:
    """End the open links; judges who came by them stay."""
    connection.execute(update(INVITATIONS).where(INVITATIONS.c.role == "open").values(revoked=True))


def delete_judge(connection: Connection, judge: str) -> None:
    """Delete the personal data of a judge; the votes stay under the pseudonym."""
    _change(connection, judge, name=None, details='{"deleted": true}', token_hash=None, revoked=True)
    for table in (SESSIONS, INVITATIONS, QUEUE):
        connection.execute(delete(table).where(table.c.judge == judge))


def judges(connection: Connection) -> list[Judge]:
    """Return all judges, in the order in which they came."""
    query = select(annotators).where(annotators.c.kind == "person").order_by(annotators.c.place)
    found = []
    for row in connection.execute(query).mappings():
        details = json.loads(row["details"])
        about, deleted = details.get("about", {}), bool(details.get("deleted"))
        found.append(Judge(row["id"], row["name"] or "", about, row["revoked"], deleted))
    return found
