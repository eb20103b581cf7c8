// a[first .. first + count) = value: for drivers whose clEnqueueFillBuffer cannot be trusted.
__kernel void fill_value(__global float* a, ulong first, ulong count, float value) {
  const ulong at = get_global_id(0);
  if (at < count) a[first + at] = value;
}
