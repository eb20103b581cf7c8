// Emission tomography (SPECT): Joseph's method where each sample is attenuated on its way to the detector by the object
// behind it (Natterer 2001, II.2). Table `mu`: the object's attenuation on the same grid, 1/mm. The projector is linear
// in the activity, so the toolkit finds its exact adjoint like that of any other ray model.
#define PROJECTOR_VERSION 1

// The attenuation at (b, c) of plane m across the axis that the ray follows.
float mu_at(const Extent extent, __global const float* mu, int axis, int m, float b, float c) {
  const int b0 = (int)floor(b), c0 = (int)floor(c);
  const float fb = b - b0, fc = c - c0;
  float sum = 0;
  for (int n = 0; n < 4; ++n) {
    const int at_b = b0 + (n & 1), at_c = c0 + (n >> 1);
    const int i = axis == 0 ? m : at_b, j = axis == 0 ? at_b : axis == 1 ? m : at_c, k = axis == 2 ? m : at_c;
    if (i < 0 || i >= extent.nx || j < 0 || j >= extent.ny || k < 0 || k >= extent.nz) continue;
    sum += (n & 1 ? fb : 1 - fb) * (n >> 1 ? fc : 1 - fc) * mu[((size_t)k * extent.ny + j) * extent.nx + i];
  }
  return sum;
}

void trace(TRACE_PARAMETERS) {
  const int axis = main_axis(ray);
  const Line line = line_of(ray, axis, 0.5f * (extent.nx - 1), 0.5f * (extent.ny - 1), 0.5f * (extent.nz - 1));
  const float path = path_mm(ray, axis, voxel);
  const int planes = axis == 0 ? extent.nx : axis == 1 ? extent.ny : extent.nz;
  const float along = axis == 0 ? ray.dx : axis == 1 ? ray.dy : ray.dz;  // d points to the detector
  float behind = 0;  // attenuation between the detector and the plane
  for (int n = 0; n < planes; ++n) {
    const int m = along > 0 ? planes - 1 - n : n;  // from the detector on
    const float p = (float)m - 0.5f * (planes - 1);
    const float b = line.slope_b * p + line.shift_b, c = line.slope_c * p + line.shift_c;
    const float length = path * part_of_plane(segment, axis, p);
    const float here = length * mu_at(extent, mu, axis, m, b, c);
    const float passes = exp(-(behind + 0.5f * here));
    behind += here;
    const int b0 = (int)floor(b), c0 = (int)floor(c);
    const float fb = b - b0, fc = c - c0;
    for (int corner = 0; corner < 4; ++corner) {
      const int at_b = b0 + (corner & 1), at_c = c0 + (corner >> 1);
      const float weight = length * passes * (corner & 1 ? fb : 1 - fb) * (corner >> 1 ? fc : 1 - fc);
      if (axis == 2)
        VISIT(at_b, at_c, m, weight);
      else if (axis == 0)
        VISIT(m, at_b, at_c, weight);
      else
        VISIT(at_b, m, at_c, weight);
    }
  }
}
