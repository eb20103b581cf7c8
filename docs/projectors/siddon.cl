// Siddon's method (1985) as a ray model: the exact length of the ray in each voxel, from crossing to crossing.
#define PROJECTOR_VERSION 1
#include "siddon.clh"

void trace(TRACE_PARAMETERS) {
  const Crossings c = crossings_of(ray, 0.5f * (extent.nx - 1), 0.5f * (extent.ny - 1), 0.5f * (extent.nz - 1));
  const Passage passage = passage_of(c, extent);
  const float2 ends = ray.dz < 0 ? -ends_along(ray, segment).yx : ends_along(ray, segment);
  const float from = fmax(passage.from, ends.x), to = fmin(passage.to, ends.y);
  if (!(from < to)) return;
  const float scale = length_mm(ray, voxel);
  const Voxel first = first_voxel(c, from, extent);
  const int step_i = c.inverse_x > 0 ? 1 : -1, step_j = c.inverse_y > 0 ? 1 : -1;  // crossings are towards larger k
  int i = first.i, j = first.j, k = first.k;
  float t = from;
  while (t < to) {
    const float next_i = crossing(i + (step_i > 0), c.inverse_x, c.shift_x);
    const float next_j = crossing(j + (step_j > 0), c.inverse_y, c.shift_y);
    const float next_k = crossing(k + 1, c.inverse_z, c.shift_z);
    const float next = fmin(fmin(next_i, next_j), fmin(next_k, to));
    VISIT(i, j, k, (next - t) * scale);
    t = next;
    if (next_i == next) i += step_i;
    if (next_j == next) j += step_j;
    if (next_k == next) k += 1;
  }
}
