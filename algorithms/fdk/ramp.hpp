// Transfer functions of the ramp filter of filtered back-projection, in double.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace halocline {

/// Factor of the ramp at the frequencies w in [0, pi] (per sample): 1, sin(w/2)/(w/2), cos(w/2), 0.54 + 0.46 cos w, (1
/// + cos w)/2.
enum class Window { ram_lak, shepp_logan, cosine, hamming, hann };

/// The names on the command line, in the order of Window: ram-lak, shepp-logan, cosine, hamming, hann.
const std::vector<std::string>& window_names();
/// The window of that name; throws InputError that lists the names.
Window window_from_name(const std::string& name);

/// The window's value at the frequency w in [0, pi], squeezed into the fraction `cutoff` in (0, 1] of the band: 0 above
/// cutoff * pi.
double window_value(Window window, double cutoff, double w);

/// The transfer function H[n], n = 0 .. length - 1, real and even: the discrete Fourier transform of the band-limited
/// ramp's kernel h_0 = 1/4, h_n = -1/(pi n)^2 for odd n, 0 for even n (Kak & Slaney 1988, eq. 61, per unit sample
/// spacing), laid on a circle of `length` samples, times the window. The transform of the sampled kernel, not |w|/2 pi
/// itself, keeps the mean right. Throws InputError for a cut-off outside (0, 1].
std::vector<double> ramp_transfer(Window window, double cutoff, std::size_t length);

/// Transfer function of another filter, times the window: `samples`, at least two, are its values at frequencies evenly
/// spaced from 0 to the highest one, with linear interpolation between them. length / 2 + 1 are taken as they are.
std::vector<double> sampled_transfer(std::span<const double> samples, Window window, double cutoff, std::size_t length);

/// The circular kernel h[n] of a real, even transfer function.
std::vector<double> kernel_of_transfer(std::span<const double> transfer);

/// The transfer function of the squared kernel h[n]^2: what white noise's variance is convolved with.
std::vector<double> squared_transfer(std::span<const double> transfer);

/// Correlation of neighbouring samples of white noise filtered with `transfer`: sum H^2 cos w / sum H^2. About -6/pi^2
/// for Ram-Lak.
double neighbour_correlation(std::span<const double> transfer);

}  // namespace halocline
