"""Names of the array types that signatures use, each defined once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
HashArray = NDArray[np.uint64]
BoolArray = NDArray[np.bool_]
