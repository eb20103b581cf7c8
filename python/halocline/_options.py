"""Keywords of the verbs, written by scripts/write-python-options from the command's options."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class FdkOptions(TypedDict, total=False):
    """Options of `halocline fdk`."""

    device: Any
    sub_devices: int
    device_memory: Any
    no_tune: bool
    host_memory: Any
    scratch: Any
    trace: Any
    report: Any
    html: Any
    html_size: int
    allow_nonfinite: bool
    views: Any
    views_per_frame: int
    crop: Any
    bin: Any
    pixel: Any
    detector_origin: Any
    window: Literal["ram-lak", "shepp-logan", "cosine", "hamming", "hann"]
    cutoff: float
    interpolation: Literal["exact", "hardware", "half"]
    displaced: bool
    nodisplaced: bool
    pad: float
    allow_incomplete_arc: bool
    counts: bool
    air: Any
    floor: float
    saturation: float
    beam_hardening: Any
    reduce_rings: int
    photons: float
    photons_per_count: float
    electronic: float
    bad_pixels: Any
    variance_out: Any
    halves_out: Any
    hu: float
    output_type: Literal["uint8", "int16", "uint16", "float16", "float32"]
    denoise: Literal["pdu", "spdu", "tvgd"]
    undenoised: Any
    alpha: Any
    iterations: int
    gap: float
    schedule: Literal["default", "zhu-chan", "seed", "chambolle-pock"]
    stages: int
    duals: Literal["float32", "snorm16"]
    step: float
    target_fidelity: float
    adaptive_delta: float
    tv: Literal["isotropic", "anisotropic", "huber"]
    huber_delta: float
    minimum: float
    maximum: float
    nonnegative: bool
    reference_eta: float
    reference_strength: float
    reference: Any
    checkpoint: Any
    resume: bool


class ReconstructOptions(TypedDict, total=False):
    """Options of `halocline reconstruct`."""

    device: Any
    sub_devices: int
    device_memory: Any
    no_tune: bool
    host_memory: Any
    scratch: Any
    trace: Any
    report: Any
    html: Any
    html_size: int
    allow_nonfinite: bool
    iterations: int
    init: Any
    subsets: int
    seed: int
    projector: Literal["automatic", "joseph", "siddon", "distance-driven"]
    rays: Literal["automatic", "end", "through"]
    interpolation: Literal["exact", "hardware"]
    relaxation: float
    precondition: Literal["none", "ramp"]
    tolerance: float
    lambda_: float
    alpha: float
    gap: float
    tv: Literal["isotropic", "anisotropic", "huber"]
    huber_delta: float
    minimum: float
    maximum: float
    nonnegative: bool
    reference_eta: float
    reference_strength: float
    photons: float
    electronic: float
    no_weights: bool
    counts: bool
    air: Any
    floor: float
    saturation: float
    beam_hardening: Any
    reduce_rings: int
    time_limit: float
    keep_partial: bool
    weights: Any
    gap_map: Any
    reference: Any
    views: Any
    crop: Any
    bin: Any
    pixel: Any
    detector_origin: Any
    bad_pixels: Any
    pad_volume: float
    plot: Any
    checkpoint: Any
    checkpoint_every: float
    resume: bool


class DenoiseOptions(TypedDict, total=False):
    """Options of `halocline denoise`."""

    device: Any
    sub_devices: int
    device_memory: Any
    no_tune: bool
    host_memory: Any
    scratch: Any
    trace: Any
    report: Any
    html: Any
    html_size: int
    allow_nonfinite: bool
    alpha: Any
    weights: Any
    iterations: int
    gap: float
    schedule: Literal["default", "zhu-chan", "seed", "chambolle-pock"]
    stages: int
    duals: Literal["float32", "snorm16"]
    step: float
    target_fidelity: float
    adaptive_delta: float
    alpha_path: Any
    time_limit: float
    keep_partial: bool
    tv: Literal["isotropic", "anisotropic", "huber"]
    huber_delta: float
    minimum: float
    maximum: float
    nonnegative: bool
    reference_eta: float
    reference_strength: float
    sigma: float
    radius: int
    patch_radius: int
    search_radius: int
    strength: float
    time_weight: float
    time_axis: Literal["z"]
    halves: Any
    reference: Any
    init: Any
    checkpoint: Any
    checkpoint_every: float
    resume: bool
    preview_roi: Any
    png: Any
    output_type: Literal["same", "uint8", "int16", "uint16", "float16", "float32"]
    rescale: bool


class ProjectOptions(TypedDict, total=False):
    """Options of `halocline project`."""

    device: Any
    sub_devices: int
    device_memory: Any
    no_tune: bool
    host_memory: Any
    scratch: Any
    trace: Any
    report: Any
    html: Any
    html_size: int
    allow_nonfinite: bool
    phantom: Literal["shepp-logan", "shepp-logan-hc", "blade", "two-balls"]
    phantom_size: float
    mu: float
    projector: Literal["automatic", "joseph", "siddon", "distance-driven"]
    rays: Literal["automatic", "end", "through"]
    interpolation: Literal["exact", "hardware"]
    pixel: Any
    detector_origin: Any


class BackprojectOptions(TypedDict, total=False):
    """Options of `halocline backproject`."""

    device: Any
    sub_devices: int
    device_memory: Any
    no_tune: bool
    host_memory: Any
    scratch: Any
    trace: Any
    report: Any
    html: Any
    html_size: int
    allow_nonfinite: bool
    projector: Literal["automatic", "joseph", "siddon", "distance-driven", "voxel"]
    rays: Literal["automatic", "end", "through"]
    interpolation: Literal["exact", "hardware", "half"]
    pixel: Any
    detector_origin: Any


class CountsOptions(TypedDict, total=False):
    """Options of `halocline counts`."""

    device: Any
    sub_devices: int
    device_memory: Any
    no_tune: bool
    host_memory: Any
    scratch: Any
    trace: Any
    report: Any
    html: Any
    html_size: int
    allow_nonfinite: bool
    air: Any
    floor: float
    saturation: float
    beam_hardening: Any
    reduce_rings: int
    bad_pixels: Any
    pixel: Any
    detector_origin: Any


class MetricsOptions(TypedDict, total=False):
    """Options of `halocline metrics`."""

    device: Any
    sub_devices: int
    device_memory: Any
    no_tune: bool
    host_memory: Any
    scratch: Any
    trace: Any
    report: Any
    html: Any
    html_size: int
    allow_nonfinite: bool
    roi: Any
