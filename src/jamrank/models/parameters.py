"""Parameters as in scikit-learn: the arguments of the constructor."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, Self

from jamrank.errors import ParameterError


class Parameters:
    """Arguments of the constructor, stored under their names, read and changed by name."""

    def __init__(self) -> None:
        pass

    @classmethod
    @cache
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor."""
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise ParameterError(f"{type(self).__name__} has no argument {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"
