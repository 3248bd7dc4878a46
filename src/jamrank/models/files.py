from typing import Any


def load(path: Any) -> Any:
    raise NotImplementedError


def model_bytes(model: Any) -> bytes:
    raise NotImplementedError
