// Values of settings as texts. Each function throws InputError that names `what` and what was found and expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halocline {

/// All of the text as a finite number, whatever the locale; none if it is no such number. A leading + is allowed.
std::optional<double> parsed_number(std::string_view text);

/// "64M", "1.5G", "4096": bytes, with K, M, G, T (also k, MB, MiB) as powers of 1024.
std::size_t parse_bytes(const std::string& what, const std::string& text);

/// The numbers in `words`, between which commas or spaces stand ("1,2,3", "1, 2, 3", {"1", "2", "3"}).
std::vector<double> parse_numbers(const std::string& what, const std::vector<std::string>& words);
/// The same, and there must be `count` of them; `names` ("NX,NY,NZ") is shown if not.
std::vector<double> parse_numbers(const std::string& what, const std::vector<std::string>& words, std::size_t count,
                                  const std::string& names);
/// All are whole and in [minimum, 2^31 - 1].
void require_whole(const std::string& what, const std::vector<double>& values, std::int64_t minimum);
void require_positive(const std::string& what, const std::vector<double>& values);

}  // namespace halocline
