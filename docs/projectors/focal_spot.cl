// A focal spot and pixels of finite width: Joseph's method with SAMPLES samples on each plane, each on the way from a
// point of the spot to one of the pixel. For cubic voxels whose middle is the isocentre and sources at SID mm from it;
// spots are SPOT mm and pixels PIXEL mm wide, along the detector's rows. SAMPLES is odd.
#define PROJECTOR_VERSION 1
#ifndef SID
#define SID 500.0f
#define SPOT 1.0f
#define PIXEL 1.0f
#define SAMPLES 5
#endif

void trace(TRACE_PARAMETERS) {
  const int axis = main_axis(ray);
  const Line line = line_of(ray, axis, 0.5f * (extent.nx - 1), 0.5f * (extent.ny - 1), 0.5f * (extent.nz - 1));
  const int planes = axis == 0 ? extent.nx : axis == 1 ? extent.ny : extent.nz;
  const float path = path_mm(ray, axis, voxel), per_plane = path / voxel.x;
  const float3 d = (float3)(ray.dx, ray.dy, ray.dz), moment = (float3)(ray.mx, ray.my, ray.mz);
  // The point nearest to the isocentre: its place on the axis, and how far it is from the source.
  const float3 nearest = cross(d, moment) / dot(d, d);
  const float nearest_at = axis == 0 ? nearest.x : axis == 1 ? nearest.y : nearest.z;
  const float from_source = sqrt(SID * SID - voxel.x * voxel.x * dot(nearest, nearest));
  const float along = axis == 0 ? d.x : axis == 1 ? d.y : d.z;
  for (int m = 0; m < planes; ++m) {
    const float p = (float)m - 0.5f * (planes - 1);
    const float c = line.slope_c * p + line.shift_c, whole_c = floor(c), fc = c - whole_c;
    // d is the whole way from the source to the pixel.
    const float share = (from_source + copysign(path, along) * (p - nearest_at)) / length_mm(ray, voxel);
    const float of_spot = SPOT * (1 - share) * per_plane / voxel.x, of_pixel = PIXEL * share * per_plane / voxel.x;
    for (int sample = 0; sample < SAMPLES; ++sample) {
      const float from = (sample + 0.5f) / SAMPLES - 0.5f, to = (2 * sample % SAMPLES + 0.5f) / SAMPLES - 0.5f;
      const float b = line.slope_b * p + line.shift_b + of_spot * from + of_pixel * to;
      const float whole_b = floor(b), fb = b - whole_b;
      for (int corner = 0; corner < 4; ++corner) {
        const int at_b = (int)whole_b + (corner & 1), at_c = (int)whole_c + (corner >> 1);
        const float weight = path / SAMPLES * (corner & 1 ? fb : 1 - fb) * (corner >> 1 ? fc : 1 - fc);
        if (weight == 0)
          continue;
        else if (axis == 2)
          VISIT(at_b, at_c, m, weight);
        else if (axis == 0)
          VISIT(m, at_b, at_c, weight);
        else
          VISIT(at_b, m, at_c, weight);
      }
    }
  }
}
