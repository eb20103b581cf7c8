// Discrete Fourier transforms of a few short rows on the host.
#pragma once

#include <complex>
#include <vector>

namespace halocline {

/// X_k = sum_n x_n exp(-2 pi i k n / N) in place (Cooley & Tukey 1965). Throws std::logic_error unless N is a power of
/// two.
void fourier_transform(std::vector<std::complex<double>>& values);

}  // namespace halocline
