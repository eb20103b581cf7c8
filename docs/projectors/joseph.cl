// Joseph's method (1982) as a ray model: bilinear interpolation on the planes of the axis that the ray follows most.
#define PROJECTOR_VERSION 1

void trace(TRACE_PARAMETERS) {
  const int axis = main_axis(ray);
  const float3 centre = 0.5f * (float3)(extent.nx - 1, extent.ny - 1, extent.nz - 1);
  const Line line = line_of(ray, axis, centre.x, centre.y, centre.z);
  const float path = path_mm(ray, axis, voxel);
  const int planes = axis == 0 ? extent.nx : axis == 1 ? extent.ny : extent.nz;
  // The planes where the ray is in the slab, with a voxel around for interpolation; VISIT looks at each voxel itself.
  const float reach = 0.5f * (planes - 1);
  float from = -reach, to = reach;
  narrow(line.slope_b, line.shift_b, -1, axis == 0 ? extent.ny : extent.nx, reach, &from, &to);
  narrow(line.slope_c, line.shift_c, axis == 2 ? -1 : extent.begin - 1, axis == 2 ? extent.ny : extent.end, reach,
         &from, &to);
  const int first = max(0, (int)ceil(from + reach)), last = min(planes - 1, (int)floor(to + reach));
  for (int m = first; m <= last; ++m) {
    const float p = (float)m - reach;
    const float b = line.slope_b * p + line.shift_b, c = line.slope_c * p + line.shift_c;
    const int b0 = (int)floor(b), c0 = (int)floor(c);
    const float fb = b - b0, fc = c - c0, length = path * part_of_plane(segment, axis, p);
    for (int n = 0; n < 4; ++n) {
      const int at_b = b0 + (n & 1), at_c = c0 + (n >> 1);
      const float weight = length * (n & 1 ? fb : 1 - fb) * (n >> 1 ? fc : 1 - fc);
      if (axis == 2)
        VISIT(at_b, at_c, m, weight);
      else if (axis == 0)
        VISIT(m, at_b, at_c, weight);
      else
        VISIT(at_b, m, at_c, weight);
    }
  }
}
