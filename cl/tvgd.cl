// Gradient descent on the smoothed total variation (the inner steps of ASD-POCS, Sidky & Pan 2008), with
//   TV(u) = sum_i sqrt(|(B u)_i|^2 + eps^2),  B backward differences divided by the spacing, 0 on the near faces
//   g_i = dTV / du_i = sum over the axes a of  (B_a u)_i / (h_a N_i) - (B_a u)_j / (h_a N_j),  j = i + e_a,  N the root above
//   tvgd_step  v = u - factor g
//   tvgd_sums  u = v, and per slice the sums of  g^2,  (u - f)^2,  (u - f) g,  N  at that u
//
// Arrays: volumes u, v, f, x fastest, first slice in the buffers is `offset`. Halo: g_i needs i's neighbours along the axes and
// the diagonal ones like (x + 1, y - 1, z): one slice low and one high. g is computed in both kernels: that is less
// traffic than to store it.
// Tunables: group shape (host); sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"
#include "tv.clh"

// g_i, and N_i as the second component. A neighbour outside of the volume counts as equal to the voxel it is subtracted from:
// that difference is then 0, and with it every term that must not be there. No branches: compilers can vectorise it.
INLINE float2 tv_gradient(__global const float* restrict u, size_t i, size_t row, size_t plane, int x, int y, int z, int nx,
                   int ny, int nz, float rx, float ry, float rz, float eps2) {
  const bool lx = x > 0, ly = y > 0, lz = z > 0, hx = x + 1 < nx, hy = y + 1 < ny, hz = z + 1 < nz;
  const float here = u[i];
  const float dx = rx * (here - (lx ? u[i - 1] : here));
  const float dy = ry * (here - (ly ? u[i - row] : here));
  const float dz = rz * (here - (lz ? u[i - plane] : here));
  const float norm2 = fma(dz, dz, fma(dy, dy, fma(dx, dx, eps2)));
  const float inverse = rsqrt(norm2);
  float g = fma(rz, dz, fma(ry, dy, rx * dx)) * inverse;
  {
    const float there = hx ? u[i + 1] : here;
    const float ax = rx * (there - here);
    const float ay = ry * (there - (hx && ly ? u[i + 1 - row] : there));
    const float az = rz * (there - (hx && lz ? u[i + 1 - plane] : there));
    g = fma(-rx * ax, rsqrt(fma(az, az, fma(ay, ay, fma(ax, ax, eps2)))), g);
  }
  {
    const float there = hy ? u[i + row] : here;
    const float ax = rx * (there - (hy && lx ? u[i + row - 1] : there));
    const float ay = ry * (there - here);
    const float az = rz * (there - (hy && lz ? u[i + row - plane] : there));
    g = fma(-ry * ay, rsqrt(fma(az, az, fma(ay, ay, fma(ax, ax, eps2)))), g);
  }
  {
    const float there = hz ? u[i + plane] : here;
    const float ax = rx * (there - (hz && lx ? u[i + plane - 1] : there));
    const float ay = ry * (there - (hz && ly ? u[i + plane - row] : there));
    const float az = rz * (there - here);
    g = fma(-rz * az, rsqrt(fma(az, az, fma(ay, ay, fma(ax, ax, eps2)))), g);
  }
  return (float2)(g, norm2 * inverse);
}

#if LANES_PER_ITEM == 1
// On GPUs a work-item marches along y and keeps what the next row needs again: three roots a voxel instead of four, seven
// loads instead of thirteen. It starts at the same rows for every slab.
typedef struct {
  float here, own, root;  // u_i; sum over a of (B_a u)_i / (h_a N_i); N_i
  float right, above;     // u at x + 1 and at z + 1, one row back
} March;

INLINE March march_from(__global const float* restrict u, size_t i, size_t row, size_t plane, int x, int y, int z, int nx,
                        int nz, float rx, float ry, float rz, float eps2) {
  March m;
  m.here = u[i];
  const float dx = rx * (m.here - (x > 0 ? u[i - 1] : m.here));
  const float dy = ry * (m.here - (y > 0 ? u[i - row] : m.here));
  const float dz = rz * (m.here - (z > 0 ? u[i - plane] : m.here));
  const float norm2 = fma(dz, dz, fma(dy, dy, fma(dx, dx, eps2)));
  const float inverse = rsqrt(norm2);
  m.own = fma(rz, dz, fma(ry, dy, rx * dx)) * inverse;
  m.root = norm2 * inverse;
  m.right = x + 1 < nx ? u[y > 0 ? i + 1 - row : i + 1] : m.here;
  m.above = z + 1 < nz ? u[y > 0 ? i + plane - row : i + plane] : m.here;
  return m;
}

// g_i of row y; *m goes on to row y + 1.
INLINE float march_on(__global const float* restrict u, size_t i, size_t row, size_t plane, int x, int y, int z, int nx,
                      int ny, int nz, float rx, float ry, float rz, float eps2, March* m) {
  const bool lx = x > 0, lz = z > 0, hx = x + 1 < nx, hy = y + 1 < ny, hz = z + 1 < nz;
  const float here = m->here;
  float g = m->own;
  {
    const float there = hx ? u[i + 1] : here;
    const float ax = rx * (there - here);
    const float ay = ry * (there - m->right);
    const float az = rz * (there - (hx && lz ? u[i + 1 - plane] : there));
    g = fma(-rx * ax, rsqrt(fma(az, az, fma(ay, ay, fma(ax, ax, eps2)))), g);
    m->right = there;
  }
  {
    const float there = hz ? u[i + plane] : here;
    const float ax = rx * (there - (hz && lx ? u[i + plane - 1] : there));
    const float ay = ry * (there - m->above);
    const float az = rz * (there - here);
    g = fma(-rz * az, rsqrt(fma(az, az, fma(ay, ay, fma(ax, ax, eps2)))), g);
    m->above = there;
  }
  {
    const float there = hy ? u[i + row] : here;
    const float ax = rx * (there - (hy && lx ? u[i + row - 1] : there));
    const float ay = ry * (there - here);
    const float az = rz * (there - (hy && lz ? u[i + row - plane] : there));
    const float norm2 = fma(az, az, fma(ay, ay, fma(ax, ax, eps2)));
    const float inverse = rsqrt(norm2);
    g = fma(-ry * ay, inverse, g);
    m->here = there;
    m->own = fma(rz, az, fma(ry, ay, rx * ax)) * inverse;
    m->root = norm2 * inverse;
  }
  return g;
}

// Work-items: (x, segments of SEGMENT_ROWS rows, slices).
__kernel void tvgd_step(__global const float* restrict u, __global float* restrict v, int nx, int ny, int nz, int offset,
                        int begin, int end, float rx, float ry, float rz, float eps2, float factor) {
  const int x = (int)get_global_id(0), first = (int)get_global_id(1) * SEGMENT_ROWS, z = begin + (int)get_global_id(2);
  if (x >= nx || first >= ny || z >= end) return;
  const size_t row = (size_t)nx, plane = row * (size_t)ny;
  const int last = min(ny, first + SEGMENT_ROWS);
  size_t i = VOXEL(x, first, z);
  March m = march_from(u, i, row, plane, x, first, z, nx, nz, rx, ry, rz, eps2);
  for (int y = first; y < last; ++y, i += row) {
    const float here = m.here;
    v[i] = fma(-factor, march_on(u, i, row, plane, x, y, z, nx, ny, nz, rx, ry, rz, eps2, &m), here);
  }
}

__kernel void tvgd_sums(__global const float* restrict v, __global const float* restrict f, __global float* restrict u,
                        __global sum_t* restrict partials, int nx, int ny, int nz, int offset, int begin, int end, float rx,
                        float ry, float rz, float eps2) {
  __local sum_t group_sums[4 * LANES];
  const int x = (int)get_global_id(0), first = (int)get_global_id(1) * SEGMENT_ROWS, z = begin + (int)get_global_id(2);
  const size_t row = (size_t)nx, plane = row * (size_t)ny;
  const int last = x < nx ? min(ny, first + SEGMENT_ROWS) : 0;
  sum_t norm = NO_SUM, fidelity = NO_SUM, product = NO_SUM, variation = NO_SUM;
  size_t i = VOXEL(min(x, nx - 1), first, z);
  March m = march_from(v, i, row, plane, min(x, nx - 1), first, z, nx, nz, rx, ry, rz, eps2);
  for (int y = first; y < last; ++y, i += row) {
    u[i] = m.here;
    const float change = m.here - f[i], root = m.root;
    const float g = march_on(v, i, row, plane, x, y, z, nx, ny, nz, rx, ry, rz, eps2, &m);
    norm = add_value(norm, g * g);
    fidelity = add_value(fidelity, change * change);
    product = add_value(product, change * g);
    variation = add_value(variation, root);
  }
  store_group_sums(partials, group_sums, z - offset, 4, norm, fidelity, product, variation);
}
#else
__kernel void tvgd_step(__global const float* restrict u, __global float* restrict v, int nx, int ny, int nz, int offset,
                        int begin, int end, float rx, float ry, float rz, float eps2, float factor) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = begin + (int)get_global_id(2);
  if (x >= nx || y >= ny || z >= end) return;
  const size_t row = (size_t)nx, plane = row * (size_t)ny, i = VOXEL(x, y, z);
  const float2 g = tv_gradient(u, i, row, plane, x, y, z, nx, ny, nz, rx, ry, rz, eps2);
  v[i] = fma(-factor, g.x, u[i]);
}

INLINE real4 step_terms(__global const float* restrict v, __global const float* restrict f, __global float* restrict u,
                        int x, int y, int z, int nx, int ny, int nz, int offset, float rx, float ry, float rz, float eps2) {
  const size_t row = (size_t)nx, plane = row * (size_t)ny, i = VOXEL(x, y, z);
  const float2 g = tv_gradient(v, i, row, plane, x, y, z, nx, ny, nz, rx, ry, rz, eps2);
  const float change = v[i] - f[i];
  u[i] = v[i];
  return (real4)(g.x * g.x, change * change, change * g.x, g.y);
}

__kernel void tvgd_sums(__global const float* restrict v, __global const float* restrict f, __global float* restrict u,
                        __global sum_t* restrict partials, int nx, int ny, int nz, int offset, int begin, int end, float rx,
                        float ry, float rz, float eps2) {
  STORE_SUMS(4, step_terms(v, f, u, x, y, z, nx, ny, nz, offset, rx, ry, rz, eps2))
}
#endif
