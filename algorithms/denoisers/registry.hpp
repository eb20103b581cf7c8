// Every iterative method by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "algorithms/denoisers/denoise_method.hpp"

namespace halocline {

/// Throws InputError that names `method` and lists the denoisers.
std::unique_ptr<IterativeMethod> make_method(const std::string& name, const MethodParameters& parameters);
/// A method that denoise() offers; InputError as above for other names.
std::unique_ptr<DenoiseMethod> make_denoiser(const std::string& name, const MethodParameters& parameters);
/// All methods, the skeleton among them.
std::vector<std::string> method_names();
/// Names of the methods that denoise.
std::vector<std::string> denoiser_names();

}  // namespace halocline
