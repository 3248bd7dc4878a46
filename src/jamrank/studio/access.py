"""Access: random tokens stored as hashes, sessions in cookies, CSRF protection."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from threading import Lock
from time import monotonic

_TOKEN_BYTES = 32


def new_token() -> str:
    """Return a random secret of 256 bits that fits into a link."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def digest(token: str) -> str:
    """Return the hash of a token; with 256 random bits a plain hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def csrf_of(session: str) -> str:
    """Return the CSRF token of a session, derived from the cookie, which other sites cannot read."""
    return hmac.new(session.encode(), b"jamrank form", hashlib.sha256).hexdigest()


def check_csrf(session: str, given: str) -> bool:
    """Return whether a form belongs to this session, in constant time."""
    return hmac.compare_digest(csrf_of(session).encode(), given.encode("utf-8", "replace"))


def cookie_name(role: str, secure: bool) -> str:
    """Return the name of a session cookie; the prefix binds it to this host and to https."""
    return f"__Host-jamrank-{role}" if secure else f"jamrank-{role}"


def hashed_password(password: str) -> str:
    """Return a salted scrypt hash of a password."""
    salt = secrets.token_bytes(16)
    return f"{salt.hex()}:{_scrypt(password, salt).hex()}"


def is_password(password: str, stored: str) -> bool:
    """Return whether a password matches the stored hash."""
    salt, _, expected = stored.partition(":")
    return hmac.compare_digest(_scrypt(password, bytes.fromhex(salt)).hex(), expected)


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode("utf-8", "surrogatepass"), salt=salt, n=2**14, r=8, p=1)


@dataclass
class _Bucket:
    left: float
    at: float


class RateLimit:
    """A token bucket for each judge, in memory: a few actions per second, with a reserve for votes stored offline."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._per_second, self._burst = per_second, burst
        self._buckets: dict[str, _Bucket] = {}
        self._lock = Lock()

    def allows(self, who: str) -> bool:
        """Take one token from the bucket, if there is one."""
        now = monotonic()
        with self._lock:
            if len(self._buckets) > 100_000:
                self._buckets = {k: b for k, b in self._buckets.items() if self._level(b, now) < self._burst}
            bucket = self._buckets.setdefault(who, _Bucket(self._burst, now))
            bucket.left, bucket.at = self._level(bucket, now), now
            if bucket.left < 1:
                return False
            bucket.left -= 1
            return True

    def _level(self, bucket: _Bucket, now: float) -> float:
        return min(self._burst, bucket.left + (now - bucket.at) * self._per_second)
