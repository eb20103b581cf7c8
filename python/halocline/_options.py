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
    bad_pixels: Any
    floor: float
    saturation: float
    beam_hardening: Any
    reduce_rings: int
    variance_out: Any
    photons: float
    photons_per_count: float
    electronic: float
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
    duals: Literal["float32", "snorm16", "snorm8"]
    weight_bits: Literal["32", "16"]
    step: float
    target_fidelity: float
    adaptive_delta: float
    tv: Literal["isotropic", "anisotropic", "huber"]
    huber_delta: float
    minimum: float
    maximum: float
    nonnegative: bool
    reference: Any
    reference_eta: float
    reference_strength: float
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
    seed: Any
    projector: Literal["automatic", "joseph", "siddon", "distance-driven"]
    rays: Literal["automatic", "end", "through"]
    interpolation: Literal["exact", "hardware"]
    relaxation: Any
    precondition: Literal["none", "ramp"]
    tolerance: float
    lambda_: float
    alpha: float
    gap: float
    gap_map: Any
    tv: Literal["isotropic", "anisotropic", "huber"]
    huber_delta: float
    minimum: float
    maximum: float
    nonnegative: bool
    reference: Any
    reference_eta: float
    reference_strength: float
    weights: Any
    photons: float
    electronic: float
    no_weights: bool
    views: Any
    crop: Any
    bin: Any
    pixel: Any
    detector_origin: Any
    counts: bool
    air: Any
    bad_pixels: Any
    floor: float
    saturation: float
    beam_hardening: Any
    reduce_rings: int
    pad_volume: float
    plot: Any
    time_limit: float
    keep_partial: bool
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
    halves: Any
    weights: Any
    iterations: int
    gap: float
    schedule: Literal["default", "zhu-chan", "seed", "chambolle-pock"]
    stages: int
    duals: Literal["float32", "snorm16", "snorm8"]
    weight_bits: Literal["32", "16"]
    step: float
    target_fidelity: float
    adaptive_delta: float
    init: Any
    alpha_path: Any
    time_limit: float
    keep_partial: bool
    checkpoint: Any
    checkpoint_every: float
    resume: bool
    preview_roi: Any
    png: Any
    tv: Literal["isotropic", "anisotropic", "huber"]
    huber_delta: float
    minimum: float
    maximum: float
    nonnegative: bool
    reference: Any
    reference_eta: float
    reference_strength: float
    sigma: float
    radius: int
    patch_radius: int
    search_radius: int
    strength: float
    time_weight: float
    time_axis: Literal["z"]
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
    bad_pixels: Any
    floor: float
    saturation: float
    beam_hardening: Any
    reduce_rings: int
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
