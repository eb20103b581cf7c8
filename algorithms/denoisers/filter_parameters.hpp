// Parameters of the filters that others are compared with, each described once.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace halocline {

/// Values that are not given are chosen by the filter, as the constants below say.
struct FilterParameters {
  std::optional<double> sigma;                     // gaussian: standard deviation, mm; none: the coarsest spacing
  std::optional<int> radius;                       // median: voxels
  std::optional<int> patch_radius, search_radius;  // nlm: voxels
  std::optional<double> strength;                  // nlm: in standard deviations of the noise
};

constexpr int default_median_radius = 1;
constexpr int default_patch_radius = 1;
constexpr int default_search_radius = 3;  // 343 voxels; in 2D 7, 225 voxels
constexpr int default_search_radius_2d = 7;
constexpr double default_nlm_strength = 0.8;

/// One of them: the method it belongs to, its range, and its help. The settings of denoising are made of these.
struct FilterParameter {
  std::string name;  ///< in messages; the setting has the part after the dot
  std::string method;
  std::optional<double> FilterParameters::*number = nullptr;  ///< positive; or
  std::optional<int> FilterParameters::*voxels = nullptr;     ///< from `least` to `most`
  int least = 0, most = 0;
  std::string unit, help;
};
const std::vector<FilterParameter>& filter_parameters();

/// True if the method is a filter: gaussian, median or nlm.
bool is_filter(const std::string& method);
/// "`sigma`" for gaussian, and so on: the parameters that are its own.
std::string filter_options(const std::string& method);

/// Throws InputError that names the parameter if a value is out of range or belongs to another method.
void check_filter_parameters(const FilterParameters& parameters, const std::string& method);

}  // namespace halocline
