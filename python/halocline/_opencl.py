"""Arrays of PyOpenCL. Those of float32 stay on their device: the run takes place in their context, copies what it reads
there, and leaves its result there."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from .grid import Grid


def _is_of_pyopencl(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "pyopencl"


def is_array(value: Any) -> bool:
    """A pyopencl.array.Array."""
    return hasattr(value, "base_data") and hasattr(value, "get") and hasattr(value, "context")


def is_buffer(value: Any) -> bool:
    """A pyopencl.Buffer, which has neither shape nor type."""
    return _is_of_pyopencl(value) and hasattr(value, "int_ptr") and hasattr(value, "size") and not is_array(value)


def shaped(value: Any, shape: Optional[Sequence[int]], keyword: str) -> Any:
    """A Buffer as an Array of float32 of this shape; anything else as it is."""
    if not is_buffer(value):
        return value
    if shape is None:
        raise TypeError(f"{keyword}= is a pyopencl.Buffer, which has no shape; give the grid of the volume or a geometry that knows its "
                        f"detector, or {keyword}= as a pyopencl.array.Array")
    wanted = 4 * int(np.prod(shape))
    if value.size != wanted:
        raise ValueError(f"{keyword}= has {value.size} bytes; {' x '.join(map(str, shape))} values of float32 have {wanted}")
    import pyopencl
    import pyopencl.array  # type: ignore[import-not-found, import-untyped, unused-ignore]

    context = value.get_info(pyopencl.mem_info.CONTEXT)
    return pyopencl.array.Array(context, tuple(shape), np.float32, data=value)


def is_resident(value: Any) -> bool:
    """True for an array that can be read where it lies; others go through host memory."""
    if not is_array(value) or value.dtype != np.float32 or value.ndim not in (2, 3) or value.size == 0 or not value.flags.c_contiguous:
        return False
    import pyopencl  # type: ignore[import-not-found, import-untyped, unused-ignore]

    if value.queue is not None and value.queue.device not in value.context.devices:  # part of a device
        return False
    return isinstance(value.base_data, pyopencl.MemoryObjectHolder) and value.offset % 4 == 0  # and not shared virtual memory


def to_host(array: Any) -> Any:
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise ValueError(f"a pyopencl array of shape {array.shape} with strides {array.strides} has gaps; give a contiguous one")
    return array.get() if array.queue is not None else array.get(queue_of(array))


def queue_of(array: Any) -> Any:
    """That of the array, or a new one of its context."""
    import pyopencl

    return array.queue or pyopencl.CommandQueue(array.context)


def _device_of(array: Any) -> Any:
    if array.queue is not None:
        return array.queue.device
    if len(array.context.devices) > 1:
        raise ValueError("the context of a pyopencl array without a queue has several devices; give an array with a queue")
    return array.context.devices[0]


def empty(like: Any, shape: Sequence[int]) -> Any:
    """An array of float32 in the context of another one, with its queue."""
    import pyopencl.array

    return pyopencl.array.empty(queue_of(like), tuple(shape), np.float32)


def _fits(array: Any, shape: Sequence[int]) -> bool:
    wide = [[each for each in sizes if each > 1] for sizes in (array.shape, shape)]  # one row, or view, may be left out
    return bool(array.size == int(np.prod(shape)) and (array.ndim < 2 or wide[0] == wide[1]))


class Resident:
    """The context and the device of an array, in which arrays of an object's calls are."""

    def __init__(self, like: Any, beside_device: str) -> None:
        if not is_array(like) or beside_device:
            raise TypeError(f"like= is {type(like).__name__}" + (" beside device=" if beside_device else "") +
                            "; expected a pyopencl.array.Array alone, which says the device")
        self._like, self._device = like, _device_of(like)

    @property
    def place(self) -> Tuple[int, int]:
        """As _core takes it."""
        return self._like.context.int_ptr, self._device.int_ptr

    def empty(self, shape: Sequence[int]) -> Any:
        return empty(self._like, shape)

    def memory(self, array: Any, shape: Sequence[int], keyword: str) -> Tuple[int, int]:
        """The memory of an array of float32 and the byte where it begins. Raises ValueError for an array of another type,
        shape, context or device."""
        if not is_array(array) or array.dtype != np.float32 or not array.flags.c_contiguous:
            raise ValueError(f"{keyword}= has to be a C-contiguous pyopencl array of float32")
        if array.shape != shape and not _fits(array, shape):
            raise ValueError(f"{keyword}= is {tuple(array.shape)}; expected {tuple(shape)}")
        if array.context != self._like.context or (array.queue is not None and array.queue.device != self._device):
            what = "device" if array.context == self._like.context else "context of PyOpenCL"
            raise ValueError(f"{keyword}= is in another {what} than like=, the array that says where all are; copy it there")
        return array.base_data.int_ptr, array.offset

    @staticmethod
    def finish(*arrays: Any) -> None:
        """Waits until all that was asked of the arrays is done."""
        queues: List[Any] = []
        for array in arrays:
            array.finish()
            if array.queue is not None and not any(array.queue is each for each in queues):
                queues.append(array.queue)
        for queue in queues:
            queue.finish()


class Home:
    """Arrays of a call in a context of PyOpenCL: that of the first array, and its device."""

    def __init__(self, array: Any) -> None:
        self._first, self._device = array, _device_of(array)
        self._arrays: List[Any] = []  # which live until the call ends
        self._inputs: Dict[str, Tuple[int, int, Any]] = {}
        self._places: Dict[str, Tuple[int, int, Any]] = {}
        self._results: List[str] = []

    @property
    def device(self) -> Any:
        return self._device

    def has(self, array: Any) -> bool:
        return bool(array.context == self._first.context)

    def add(self, name: str, array: Any, grid: Grid) -> None:
        self._inputs[name] = self._place(array, grid)

    def take_results(self, name: str) -> None:
        self._results.append(name)

    def place(self, name: str, array: Any) -> None:
        """Where a result is to lie."""
        self._places[name] = self._place(array, Grid((1,) * (3 - array.ndim) + tuple(array.shape)))

    def overlaps(self) -> bool:
        """True if memory of a result is also read."""
        def range_of(place: Tuple[int, int, Any]) -> Tuple[int, int, int]:
            memory, offset, grid = place
            return memory, offset, offset + 4 * int(np.prod(grid[0]))

        return any(memory == other and begin < last and first < end
                   for memory, begin, end in map(range_of, self._places.values())
                   for other, first, last in map(range_of, self._inputs.values()))

    def _place(self, array: Any, grid: Grid) -> Tuple[int, int, Any]:
        self._arrays.append(array)
        return array.base_data.int_ptr, array.offset, grid.as_tuple()

    def as_dict(self) -> Dict[str, Any]:
        """As _core.run() takes it, once all that was asked of the arrays is done."""
        for array in self._arrays:
            array.finish()
            if array.queue is not None:
                array.queue.finish()
        return {"context": self._first.context.int_ptr, "device": self._device.int_ptr, "inputs": self._inputs, "places": self._places,
                "results": self._results}

    def array(self, memory: Any, shape: Sequence[int]) -> Any:
        """A result as an Array with the queue of the first."""
        import pyopencl
        import pyopencl.array

        data = pyopencl.MemoryObject.from_int_ptr(memory.int_ptr, retain=True)
        return pyopencl.array.Array(self._first.queue or self._first.context, tuple(shape), np.float32, data=data)
