"""Arrays that have nothing but DLPack: bfloat16 is read here, because numpy has no such type."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

#: Code of bfloat16 in DLPack's table of types.
_BFLOAT = 4
_CPU = (1, 0)


class _Tensor(ctypes.Structure):
    """DLPack's DLTensor, with which a DLManagedTensor begins."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def from_dlpack(value: Any) -> np.ndarray:
    """The array of an object with ``__dlpack__``, copied to the CPU where it lies elsewhere; bfloat16 becomes float32."""
    if tuple(value.__dlpack_device__()) != _CPU:
        capsule = value.__dlpack__(dl_device=_CPU, copy=True)
    else:
        capsule = value.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    if (tensor.code, tensor.bits, tensor.lanes) != (_BFLOAT, 16, 1):
        return np.from_dlpack(_Taken(capsule))
    shape = tensor.shape[: tensor.ndim]
    if 0 in shape:
        return np.zeros(shape, np.float32)
    if tensor.strides:
        strides = tensor.strides[: tensor.ndim]
    else:
        strides = [int(np.prod(shape[i + 1 :])) for i in range(tensor.ndim)]
    # From the lowest to the highest address, as strides may be negative.
    ends = [(n - 1) * step for n, step in zip(shape, strides)]
    first, last = sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)
    start = tensor.data + tensor.byte_offset + 2 * first
    words = np.frombuffer((ctypes.c_uint16 * (last - first + 1)).from_address(start), np.uint16)
    halves = np.lib.stride_tricks.as_strided(words[-first:], shape, [2 * step for step in strides])
    # bfloat16 is the upper half of a float32. The capsule lives until the copy is made.
    return (halves.astype(np.uint32) << 16).view(np.float32)


class _Taken:
    """Gives numpy a capsule that was taken already."""

    def __init__(self, capsule: Any):
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU
