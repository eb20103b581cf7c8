"""The projector as a linear operator, for NumPy, SciPy and PyTorch."""

from __future__ import annotations

from typing import Any, Optional, Tuple, Union

import numpy as np

from . import _core, _opencl
from ._algebra import HostOperator
from .arrays import Context, DeviceOperator
from .errors import InputError
from .geometry import Geometry, require_geometry
from .grid import Grid
from .image import as_values, like_input
from .patches import Patches
from .verbs import _flattened, backproject, project


class Operator(HostOperator):
    """Line integrals A(x) of volumes (k, j, i), and their exact adjoint A.T(y) (view, row, column). Of one slice or one
    detector row, arrays may go without that axis, and so do their results.

    As of tomosipo: domain_shape and range_shape. It is a scipy.sparse.linalg.LinearOperator, too: A @ x.ravel(),
    scipy.sparse.linalg.lsqr(A, y.ravel()). 2 * A, A + B, A - B and A @ B are operators like it, and A[3::8] is that of some
    views. options: those of project and backproject (projector="siddon", device=...).
    operator: "matrix" stores the system matrix of scans whose rays run within slices, "matrix-half" with vectors in half
    precision, "symmetric" an eighth of it, "auto" where that pays; options are those of a Context then, on whose devices
    it is as long as this operator or its adjoint.
    """

    def __init__(self, geometry: Geometry, grid: Optional[Grid] = None, *, operator: str = "rays",
                 _transposed: "Optional[Operator]" = None, **options: Any) -> None:
        geometry = require_geometry(geometry)
        grid = geometry.grid_of(grid)
        ends = (grid.shape, geometry.shape)
        super().__init__(*(ends if _transposed is None else ends[::-1]), *((grid, None) if _transposed is None else (None, grid)))
        self.geometry, self.grid, self.options, self.form = geometry, grid, options, operator
        self._stored: Optional[DeviceOperator] = None
        if _transposed is None and operator != "rays":
            self._stored = Context(geometry, grid, operator=operator, **options).operator
        elif _transposed is not None and _transposed._stored is not None:
            self._stored = _transposed._stored.T
        self._transposed_of = _transposed
        self._other: Optional[Operator] = _transposed

    def __call__(self, x: Any) -> Any:
        """A x of an array, in its own kind."""
        x, given = _opencl.shaped(x, self.domain_shape, "x"), x
        if not self._takes(tuple(np.shape(x))):
            raise ValueError(f"x= is {tuple(np.shape(x))}; expected {tuple(self.domain_shape)}")
        if self._stored is not None:
            return self._by_matrix(self._stored, x, given)
        apply = project if self._transposed_of is None else backproject
        result = apply(x, self.geometry, self.grid, **self.options)
        return result.base_data if _opencl.is_buffer(given) else result

    def _by_matrix(self, stored: DeviceOperator, x: Any, given: Any) -> Any:
        values = as_values(x, "x").astype(np.float32, copy=False).reshape(self.domain_shape)
        result = stored(_core.load(stored.domain, values)).get()
        found = like_input(_flattened(result, x, single=1 if self._transposed_of is None else 0), x)
        return found.base_data if _opencl.is_buffer(given) else found

    def _takes(self, shape: Tuple[int, ...]) -> bool:
        whole = tuple(self.domain_shape)
        single = 0 if self._transposed_of is None else 1  # the axis that a slice, or a fan beam's row, has alone
        return shape == whole or (whole[single] == 1 and shape == whole[:single] + whole[single + 1:])

    @property
    def T(self) -> "Operator":
        """The adjoint; A.T.T is A."""
        if self._other is None:
            self._other = Operator(self.geometry, self.grid, _transposed=self, **self.options)
        return self._other

    @property
    def is_adjoint(self) -> bool:
        """True of A.T."""
        return self._transposed_of is not None

    def subset(self, views: Any) -> "Operator":
        """The operator of some of the views: A.subset([7, 0, 3]), A[3::8]. It is that of geometry[views]. Raises IndexError
        for others than there are, InputError for an adjoint."""
        if self.is_adjoint:
            raise InputError("A.T has no views of its own; take A.subset(views).T")
        return Operator(self.geometry[views], self.grid, operator=self.form, **self.options)

    def __getitem__(self, views: Any) -> "Operator":
        return self.subset(views)


def to_autograd(operator: Union[Operator, DeviceOperator, Patches]) -> Any:
    """A differentiable function of torch tensors: A(x) with the gradient A^T g. Needs PyTorch.

    An Operator plans each call. That of a Context keeps its plan and its arrays on the device, for layers that are called
    again and again. Patches: of projections (view, row, column) to the voxels of the boxes, one box after another, with the
    gradient by project(). Tensors go through host memory. backward() raises RuntimeError where move_to(), set_boxes(),
    set_views() or replace_views() came after forward().
    """
    if isinstance(operator, Patches) and operator.is_resident:
        raise TypeError("operator= is Patches with like=, whose arrays are those of PyOpenCL; make them without, as tensors go "
                        "through host memory")
    if not isinstance(operator, (Operator, DeviceOperator, Patches)):
        raise TypeError(f"operator= is {type(operator).__name__}; expected an Operator, the operator of a Context, or Patches")
    import torch  # type: ignore[import-not-found, unused-ignore]

    if isinstance(operator, Patches):
        return _autograd_of_patches(operator)
    if isinstance(operator, DeviceOperator):
        return _autograd_of_arrays(operator)
    A: Operator = operator

    class Projection(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return A(x.contiguous())

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return A.T(gradient.contiguous())

    return Projection.apply


def _autograd_of_arrays(A: DeviceOperator) -> Any:
    import torch

    def applied(operator: DeviceOperator, values: Any) -> Any:
        given = np.ascontiguousarray(as_values(values.detach(), "the tensor", any_axes=True), np.float32)
        shape = tuple(operator.domain.grid[0][::-1])
        if given.shape != shape:
            raise ValueError(f"the tensor is {given.shape}; expected {shape}")
        return torch.from_numpy(operator(_core.load(operator.domain, given)).get()).to(values.device)

    class ProjectionOnDevice(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.moves = A.moves
            return applied(A, x)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            _require_same(ctx.moves, A.moves, "operator was moved")
            return applied(A.T, gradient)

    return ProjectionOnDevice.apply


def _autograd_of_patches(patches: Patches) -> Any:
    import torch

    class PatchesOfProjections(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
        @staticmethod
        def forward(ctx: Any, projections: Any) -> Any:
            ctx.changes = patches.changes
            voxels = np.empty(patches.voxels, np.float32)
            patches.backproject(projections.detach(), out=voxels)
            return torch.from_numpy(voxels).to(projections.device)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            _require_same(ctx.changes, patches.changes, "Patches got other boxes or views")
            return torch.from_numpy(patches.project(gradient)).to(gradient.device)

    return PatchesOfProjections.apply


def _require_same(before: int, now: int, what: str) -> None:
    if before != now:
        raise RuntimeError(f"the {what} between forward() and backward(), whose gradient would be another function's; "
                           "call backward() before, or forward() again")


def adjoint_error(operator: Operator, seed: int = 1) -> float:
    """``|<A x, y> - <x, A^T y>| / (|A x| |y|)`` of random x and y."""
    random = np.random.default_rng(seed)
    x = random.standard_normal(operator.domain_shape, dtype=np.float32)
    y = random.standard_normal(operator.range_shape, dtype=np.float32)
    ax, aty = operator(x), operator.T(y)
    left, right = (float(np.vdot(a.astype(np.float64), b.astype(np.float64))) for a, b in ((ax, y), (x, aty)))
    return abs(left - right) / (float(np.linalg.norm(ax)) * float(np.linalg.norm(y)))


