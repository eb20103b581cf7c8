#include "apps/report/svg_drawing.hpp"

#include <fmt/format.h>

#include "apps/report/encoding.hpp"

namespace halocline {
namespace {

std::string stroke(const SvgPen& pen) {
  return fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\"{}", pen.colour, pen.width,
                     pen.dashed ? " stroke-dasharray=\"8 6\"" : "");
}

}  // namespace

SvgDrawing::SvgDrawing(double width, double height, std::string_view title)
    : svg_(fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
                       "height=\"{1:g}\" font-family=\"system-ui, sans-serif\">\n<title>{2}</title>\n"
                       "<rect width=\"{0:g}\" height=\"{1:g}\" fill=\"white\"/>\n",
                       width, height, html_escaped(title))) {}

void SvgDrawing::line(const SvgPoint& a, const SvgPoint& b, const SvgPen& pen) {
  svg_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", a[0], a[1], b[0], b[1],
                      stroke(pen));
}

void SvgDrawing::circle(const SvgPoint& centre, double radius, const SvgPen& pen) {
  svg_ +=
      fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" {}/>\n", centre[0], centre[1], radius, stroke(pen));
}

void SvgDrawing::disc(const SvgPoint& centre, double radius, std::string_view colour) {
  svg_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"/>\n", centre[0], centre[1], radius,
                      colour);
}

void SvgDrawing::text(const SvgPoint& at, std::string_view text, double size) {
  svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\">{}</text>\n", at[0], at[1], size,
                      html_escaped(text));
}

}  // namespace halocline
