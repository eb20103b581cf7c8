"""Compilers of GPUs that are not here, and what they say of the kernels. See scripts/compile-for-gpus."""
