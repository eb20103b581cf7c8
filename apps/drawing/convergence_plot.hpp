// How iterations converged, as a picture.
#pragma once

#include <string>
#include <vector>

#include "apps/images/png.hpp"

namespace halocline {

struct PlotPoint {
  double x = 0, y = 0;
};

/// A curve over x with a logarithmic axis y of powers of ten. Points with y not above 0 or not finite are left out;
/// without any the axes stand alone. Titles: capital letters, digits and .,:+-/()=% (LineDrawing::text).
GreyImage convergence_plot(const std::vector<PlotPoint>& points, const std::string& x_title,
                           const std::string& y_title);

}  // namespace halocline
