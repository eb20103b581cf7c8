#include "apps/report/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "apps/report/encoding.hpp"
#include "apps/report/page_files.hpp"

namespace halocline {
namespace {

std::string facts_html(const FactSection& section) {
  std::string html = fmt::format("<details{}><summary><h2>{}</h2></summary>\n<table>\n", section.folded ? "" : " open",
                                 html_escaped(section.title));
  for (const Fact& fact : section.facts)
    html += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", html_escaped(fact.name),
                        html_escaped(fact.value));
  html += "</table>\n";
  if (!section.note.empty()) html += fmt::format("<p class=\"note\">{}</p>\n", html_escaped(section.note));
  return html + "</details>\n";
}

std::string curves_html(const std::vector<Curve>& curves) {
  std::string html;
  for (const Curve& curve : curves)
    html += fmt::format("<figure class=\"plot\"><figcaption><h2>{}</h2></figcaption>\n{}</figure>\n",
                        html_escaped(curve.title), curve_svg(curve));
  return html;
}

// JSON that may stand in a <script> element: nothing in it ends that.
std::string script_json(const nlohmann::json& json) {
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string out;
  for (const char c : text) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

struct EncodedVolume {
  nlohmann::json about;
  std::string data;
};

EncodedVolume encode(const PageVolume& volume, const BinnedVolume& voxels) {
  const ByteVolume bytes = to_bytes(voxels);
  const Grid& grid = voxels.whole;
  return {{{"name", volume.name},
           {"unit", volume.unit},
           {"projections", volume.projections},
           {"size", voxels.size},
           {"factors", voxels.factors},
           {"whole", grid.size},
           {"spacing", grid.spacing},
           {"origin", grid.origin},
           {"direction", grid.direction},
           {"offset", bytes.offset},
           {"slope", bytes.slope},
           {"below", bytes.below},
           {"above", bytes.above}},
          base64(gzip(bytes.bytes))};
}

std::size_t bytes_of(const std::vector<EncodedVolume>& volumes) {
  std::size_t bytes = 0;
  for (const auto& volume : volumes) bytes += volume.data.size();
  return bytes;
}

// At most `bytes` of them, if that can be.
std::vector<EncodedVolume> encode_within(const std::vector<PageVolume>& volumes, double bytes, bool& smaller) {
  constexpr double margin = 0.97;  // further binned volumes compress a little otherwise
  std::vector<EncodedVolume> encoded;
  for (const auto& volume : volumes) encoded.push_back(encode(volume, volume.voxels));
  double part = 1;  // bytes of the voxels
  constexpr double least = 1e-6;
  while (static_cast<double>(bytes_of(encoded)) > bytes && part > least) {
    part *= std::clamp(margin * bytes / static_cast<double>(bytes_of(encoded)), 0.01, margin);
    smaller = true;
    for (std::size_t n = 0; n < volumes.size(); ++n) {
      const BinnedVolume& voxels = volumes[n].voxels;
      const auto more = factors_for(voxels.size, std::max(1.0, part * static_cast<double>(voxels.count())));
      encoded[n] = encode(volumes[n], bin_further(voxels, more));
    }
  }
  return encoded;
}

// The template with each {{name}} replaced by what `parts` has of it.
std::string filled(const std::string& form, const std::vector<std::pair<std::string, const std::string*>>& parts) {
  std::string out;
  for (std::size_t at = 0;;) {
    const auto open = form.find("{{", at);
    out.append(form, at, open == std::string::npos ? open : open - at);
    if (open == std::string::npos) return out;
    const auto close = form.find("}}", open);
    const std::string name = form.substr(open + 2, close - open - 2);
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.first == name; });
    if (found == parts.end()) throw std::logic_error("report_page.html has a place for '" + name + "'");
    out += *found->second;
    at = close + 2;
  }
}

}  // namespace

PageVolume page_volume(const std::string& name, const std::string& unit, const VolumeSource& volume,
                       const PageOptions& options) {
  return {name, unit, bin_volume(volume, binning_factors(volume.grid().size, options.size))};
}

std::string report_html(const ReportPage& page, const PageOptions& options) {
  const auto& files = page_files();
  const std::string title = html_escaped(page.title), subtitle = html_escaped(page.subtitle);
  const std::string curves = curves_html(page.curves);
  std::string facts;
  for (const auto& section : page.sections) facts += facts_html(section);
  const std::string &form = files.at("report_page.html"), &style = files.at("report_page.css"),
                    &script = files.at("report_page.js");
  constexpr std::size_t about_volume = 2000;  // its entry in "about", and the element around its data
  const std::size_t fixed = form.size() + style.size() + script.size() + curves.size() + facts.size() +
                            2 * title.size() + subtitle.size() + about_volume * page.volumes.size();
  bool smaller = false;
  const double left = options.bytes > fixed ? static_cast<double>(options.bytes - fixed) : 0;
  const auto volumes = encode_within(page.volumes, left, smaller);
  nlohmann::json about{{"volumes", nlohmann::json::array()}, {"smaller", smaller}, {"bytes", options.bytes}};
  std::string data;
  for (std::size_t n = 0; n < volumes.size(); ++n) {
    about["volumes"].push_back(volumes[n].about);
    data += fmt::format("<script type=\"text/plain\" id=\"volume-{}\">{}</script>\n", n, volumes[n].data);
  }
  const std::string meta = script_json(about);
  return filled(form, {{"title", &title},
                       {"subtitle", &subtitle},
                       {"style", &style},
                       {"curves", &curves},
                       {"facts", &facts},
                       {"about", &meta},
                       {"data", &data},
                       {"script", &script}});
}

}  // namespace halocline
