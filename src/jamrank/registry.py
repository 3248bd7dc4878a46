"""Registries: the parts of the package by name, each imported when it is first looked up."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from jamrank.errors import ParameterError

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Parts by name, in the order in which they were registered.

    Parameters
    ----------
    kind : str
        What is registered, for messages: "noise", "model".
    parts : mapping
        Each part, or where to import it from: ``"package.module:name"``.

    Examples
    --------
    >>> from jamrank.registry import Registry
    >>> greetings = Registry("greeting", {"short": "hi"})
    >>> greetings.register("long", "good morning")
    >>> list(greetings)
    ['short', 'long']
    """

    def __init__(self, kind: str, parts: Mapping[str, T | str]) -> None:
        self.kind = kind
        self._parts: dict[str, T | str] = dict(parts)

    def register(self, name: str, part: T | str) -> None:
        """Add a part, or replace the one of that name."""
        self._parts[name] = part

    def unregister(self, name: str) -> None:
        """Remove a part."""
        del self._parts[name]

    def __getitem__(self, name: str) -> T:
        """Return a part, imported if necessary; raise a :class:`ParameterError` if there is none."""
        if name not in self._parts:
            raise ParameterError(f"{self.kind} is {name!r}; expected one of {', '.join(map(repr, self._parts))}")
        part = self._parts[name]
        if isinstance(part, str) and ":" in part:
            module, _, attribute = part.partition(":")
            part = self._parts[name] = cast(T, getattr(import_module(module), attribute))
        return cast(T, part)

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def importing(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` of a package that imports each of its names when it is first used.

    homes: The names in each module of the package, separated by spaces.
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def look_up(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f".{modules[name]}", package), name)
        setattr(sys.modules[package], name, found)
        return found

    return look_up
