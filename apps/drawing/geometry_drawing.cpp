#include "apps/drawing/geometry_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/geometry/field_of_view.hpp"
#include "algorithms/geometry/geometry_decompose.hpp"
#include "apps/report/svg_drawing.hpp"

namespace halocline {
namespace {

constexpr double panel_width = 620, panel_height = 680, panel_margin = 50;
constexpr const char *black = "#222222", *orange = "#c8781e", *blue = "#1f5fa8", *grey = "#888888", *light = "#bbbbbb";

/// World mm seen along a direction: two axes of the world become columns and rows of a part of the drawing.
class Panel {
 public:
  Panel(SvgDrawing& drawing, double left, const Vector3& right, const Vector3& up)
      : drawing_(drawing), left_(left), right_(right), up_(up) {}

  void include(const Vector3& p) {
    const double x = dot(p, right_), y = dot(p, up_);
    low_ = {std::min(low_[0], x), std::min(low_[1], y)};
    high_ = {std::max(high_[0], x), std::max(high_[1], y)};
  }
  /// Chooses the scale; to be called after all is included.
  void fit() {
    const double width = std::max(high_[0] - low_[0], 1e-9), height = std::max(high_[1] - low_[1], 1e-9);
    scale_ = std::min((panel_width - 2 * panel_margin) / width, (panel_height - 4 * panel_margin) / height);
  }
  double scale() const { return scale_; }
  SvgPoint at(const Vector3& p) const {
    return {left_ + panel_width / 2 + scale_ * (dot(p, right_) - 0.5 * (low_[0] + high_[0])),
            panel_height / 2 - scale_ * (dot(p, up_) - 0.5 * (low_[1] + high_[1]))};
  }
  void line(const Vector3& a, const Vector3& b, const SvgPen& pen) const { drawing_.line(at(a), at(b), pen); }
  void label(const Vector3& p, const std::string& text) const {
    const SvgPoint point = at(p);
    const double room = left_ + panel_width - 8 - 7 * static_cast<double>(text.size());
    drawing_.text({std::clamp(point[0] + 9, left_ + 8, room), point[1] - 6}, text, 13);
  }
  /// A title above, and a bar of 1, 2 or 5 times a power of ten mm below.
  void frame(const std::string& title) const {
    drawing_.text({left_ + panel_margin, 30}, title, 17);
    const double most = 0.35 * panel_width / scale_;
    double bar = std::pow(10, std::floor(std::log10(most)));
    for (const double times : {5.0, 2.0})
      if (times * bar <= most) {
        bar *= times;
        break;
      }
    const double y = panel_height - 28;
    drawing_.line({left_ + panel_margin, y}, {left_ + panel_margin + bar * scale_, y}, {black, 3});
    drawing_.text({left_ + panel_margin + bar * scale_ + 10, y + 5}, fmt::format("{:.6g} mm", bar));
  }

 private:
  SvgDrawing& drawing_;
  double left_, scale_ = 1;
  Vector3 right_, up_;
  SvgPoint low_{0, 0}, high_{0, 0};
};

/// The scan in the world.
struct Scene {
  std::vector<View> views;              // views; those of a parallel beam get a source plane near the object
  double u[2] = {0, 0}, v[2] = {0, 0};  // the detector's outer edges, mm
  bool detector = false;
  FieldOfView seen;
  std::vector<Vector3> corners;  // corners of the volume

  double radius() const { return std::max(0.0, seen.radius); }
};

Scene make_scene(const Geometry& geometry, const DetectorPixels& pixels, const std::optional<Grid>& volume) {
  Scene scene;
  scene.views = geometry.views;
  scene.detector = pixels.size && pixels.spacing;
  if (scene.detector) {
    const Grid grid = pixels.grid(1);
    for (int axis = 0; axis < 2; ++axis) {
      double* edge = axis == 0 ? scene.u : scene.v;
      edge[0] = grid.origin[axis] - 0.5 * grid.spacing[axis];
      edge[1] = edge[0] + static_cast<double>(grid.size[axis]) * grid.spacing[axis];
    }
    scene.seen = field_of_view(geometry, pixels);
  }
  double reach = 0;
  if (volume)
    for (int corner = 0; corner < 8; ++corner) {
      const auto edge = [&](int axis) {
        return (corner >> axis & 1) != 0 ? static_cast<double>(volume->size[axis]) - 0.5 : -0.5;
      };
      scene.corners.push_back(volume->world(edge(0), edge(1), edge(2)));
      reach = std::max(reach, length(scene.corners.back()));
    }
  if (geometry.parallel()) {
    reach = std::max({reach, std::abs(scene.u[0]), std::abs(scene.u[1]), 1.0});
    for (View& view : scene.views) view.sid = 1.5 * reach;
  }
  return scene;
}

/// The start of the ray to the detector's point (u, v).
Vector3 start_of(const View& view, double u, double v) {
  return ViewRays(view).to(u, v).origin;
}

void include_view(Panel& panel, const Scene& scene, const View& view) {
  panel.include(source_position(view));
  for (const double u : scene.u)
    for (const double v : scene.v) {
      panel.include(detector_point(view, u, v));
      panel.include(start_of(view, u, v));
    }
}

void draw_volume(const Panel& panel, const Scene& scene) {
  if (scene.corners.empty()) return;
  for (int a = 0; a < 8; ++a)
    for (int axis = 0; axis < 3; ++axis)
      if ((a >> axis & 1) == 0)
        panel.line(scene.corners[static_cast<std::size_t>(a)], scene.corners[static_cast<std::size_t>(a | 1 << axis)],
                   {grey, 2});
}

/// One view: rays to two edges of the detector, the central ray dashed, the detector thick.
void draw_view(SvgDrawing& drawing, const Panel& panel, const Scene& scene, const View& view, bool across) {
  const auto edge = [&](int n) {
    return across ? std::array<double, 2>{0.5 * (scene.u[0] + scene.u[1]), scene.v[n]}
                  : std::array<double, 2>{scene.u[n], 0.5 * (scene.v[0] + scene.v[1])};
  };
  for (int n = 0; n < 2; ++n)
    panel.line(start_of(view, edge(n)[0], edge(n)[1]), detector_point(view, edge(n)[0], edge(n)[1]), {orange});
  drawing.line(panel.at(source_position(view)),
               panel.at(detector_point(view, view.source_offset_x - view.projection_offset_x,
                                       view.source_offset_y - view.projection_offset_y)),
               {orange, 1, true});
  panel.line(detector_point(view, edge(0)[0], edge(0)[1]), detector_point(view, edge(1)[0], edge(1)[1]), {blue, 5});
}

void draw_top(SvgDrawing& drawing, const Scene& scene) {
  Panel panel(drawing, 0, {1, 0, 0}, {0, 0, -1});
  for (const View& view : scene.views) panel.include(source_position(view));
  include_view(panel, scene, scene.views.front());
  for (const Vector3& corner : scene.corners) panel.include(corner);
  const double r = scene.radius();
  for (const double x : {-r, r}) panel.include({x, 0, x});
  panel.fit();

  for (std::size_t n = 1; n < scene.views.size(); ++n) {  // the path, broken where an arc is missing
    const Vector3 a = source_position(scene.views[n - 1]), b = source_position(scene.views[n]);
    if (std::abs(std::remainder(scene.views[n].gantry_angle - scene.views[n - 1].gantry_angle, 360)) < 21)
      panel.line(a, b, {light, 2});
  }
  const std::size_t step = std::max<std::size_t>(1, scene.views.size() / 120);
  for (std::size_t n = 0; n < scene.views.size(); n += step)
    drawing.disc(panel.at(source_position(scene.views[n])), 2, grey);
  draw_view(drawing, panel, scene, scene.views.front(), false);
  draw_volume(panel, scene);
  const SvgPoint axis = panel.at({0, 0, 0});
  if (r > 0) drawing.circle(axis, r * panel.scale(), {black, 2.5});
  drawing.line({axis[0] - 6, axis[1]}, {axis[0] + 6, axis[1]}, {black, 2});
  drawing.line({axis[0], axis[1] - 6}, {axis[0], axis[1] + 6}, {black, 2});
  drawing.disc(panel.at(source_position(scene.views.front())), 6, black);
  panel.label(source_position(scene.views.front()), "first view");
  if (scene.views.size() > 1) {
    const View& last = scene.views.back();
    drawing.circle(panel.at(source_position(last)), 6, {black, 2});
    if (std::abs(std::remainder(last.gantry_angle - scene.views.front().gantry_angle, 360)) > 20)
      panel.label(source_position(last), "last view");
  }
  panel.frame("Along the axis (x to the right, z downwards)");
}

void draw_side(SvgDrawing& drawing, const Scene& scene) {
  const View& view = scene.views.front();
  Vector3 to_source = scaled(-1, ray_direction(view));
  to_source[1] = 0;
  const double horizontal = length(to_source);
  if (horizontal < 1e-9)
    to_source = {0, 0, 1};
  else
    to_source = scaled(1 / horizontal, to_source);
  Panel panel(drawing, panel_width, scaled(-1, to_source), {0, 1, 0});
  include_view(panel, scene, view);
  for (const Vector3& corner : scene.corners) panel.include(corner);
  const double r = scene.radius();
  const bool cylinder = r > 0 && scene.seen.low < scene.seen.high;
  const auto rim = [&](double side, double y) { return add_scaled({0, y, 0}, side * r, to_source); };
  if (cylinder)
    for (const double side : {-1.0, 1.0})
      for (const double y : {scene.seen.low, scene.seen.high}) panel.include(rim(side, y));
  panel.fit();

  draw_view(drawing, panel, scene, view, true);
  draw_volume(panel, scene);
  if (cylinder) {
    for (const double side : {-1.0, 1.0})
      panel.line(rim(side, scene.seen.low), rim(side, scene.seen.high), {black, 2.5});
    for (const double y : {scene.seen.low, scene.seen.high}) panel.line(rim(-1, y), rim(1, y), {black, 2.5});
  }
  const double column = panel.at({0, 0, 0})[0];
  drawing.line({column, 60}, {column, panel_height - 90}, {grey, 1, true});
  drawing.text({column + 6, 58}, "axis", 13);
  drawing.disc(panel.at(source_position(view)), 6, black);
  panel.label(source_position(view), "source");
  panel.frame("Across the axis (y upwards, first view)");
}

void legend(SvgDrawing& drawing, const Scene& scene) {
  const double x = 2 * panel_width - 220;
  double y = panel_height - 82;
  const auto entry = [&](const SvgPen& pen, const std::string& text) {
    drawing.line({x, y + 5}, {x + 26, y + 5}, pen);
    drawing.text({x + 34, y + 9}, text, 13);
    y += 19;
  };
  if (!scene.detector) return drawing.text({x, y}, "the size of the detector is not known", 13);
  entry({blue, 5}, "detector");
  entry({orange}, "outer and central rays");
  if (scene.radius() > 0) entry({black, 2.5}, "field of view");
  if (!scene.corners.empty()) entry({grey, 2}, "volume");
}

}  // namespace

std::string draw_geometry(const Geometry& geometry, const DetectorPixels& detector, const std::optional<Grid>& volume) {
  check_geometry(geometry, "the geometry to be drawn");
  const Scene scene = make_scene(geometry, detector, volume);
  SvgDrawing drawing(2 * panel_width, panel_height, "Source, detector and volume of a scan");
  drawing.line({panel_width, 10}, {panel_width, panel_height - 10}, {light, 1});
  draw_top(drawing, scene);
  draw_side(drawing, scene);
  legend(drawing, scene);
  return drawing.file();
}

}  // namespace halocline
