"""A local dask cluster lets nobody in who has not its key."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from jamrank.errors import ParameterError
from jamrank.io.out_of_core import cluster as module

pytest.importorskip("distributed")


@pytest.mark.long
def test_other_processes_cannot_connect(tmp_path, monkeypatch):
    pytest.importorskip("cryptography")
    from distributed import Client, Security

    monkeypatch.setenv("JAMRANK_CACHE", str(tmp_path))
    local = module.Cluster.at(workers=1)
    try:
        assert local.address.startswith("tls://127.0.0.1:") and local.dashboard == ""
        local.require_workers()
        assert local.result(local.client.submit(int, 7)) == 7
        for address, security in (
            (local.address.replace("tls", "tcp"), None),
            (local.address, Security.temporary()),
        ):
            with pytest.raises((OSError, TypeError)):
                Client(address, security=security, timeout=5, set_as_default=False)
        page = local.client.cluster.scheduler.http_server
        for port in {socket.getsockname()[1] for socket in page._sockets.values()}:
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10)
    finally:
        local.close()


def test_without_keys_no_cluster_is_started(tmp_path, monkeypatch):
    import distributed

    def missing() -> None:
        raise ImportError

    monkeypatch.setenv("JAMRANK_CACHE", str(tmp_path))
    monkeypatch.setattr(distributed.Security, "temporary", missing)
    with pytest.raises(ParameterError, match="needs the package cryptography"):
        module.Cluster.at(workers=1)
