// One HTML file with images to look through (apps/report).
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "apps/images/memory_files.hpp"
#include "apps/job/report_facts.hpp"
#include "apps/report/report_page.hpp"
#include "host/system/interrupt.hpp"
#include "python/src/core.hpp"

namespace halocline::python {
namespace {

using Pictures = std::vector<std::tuple<std::string, Values, GridTuple>>;

class Page : public Cancellable {
 public:
  Page(const std::string& title, const Pictures& pictures, const std::string& report, std::size_t size) {
    page_.title = title;
    options_.size = size;
    for (const auto& [name, values, grid] : pictures) {
      images_.add(name, grid_of(grid), component_of(values.dtype()), values.data());
      names_.push_back(name);
    }
    if (report.empty()) return;
    const auto facts = nlohmann::json::parse(report);
    page_.sections = report_facts(facts, "");
    page_.curves = report_curves(facts);
  }
  void work() override {
    const CancellationScope scope(&cancellation_);
    for (const auto& name : names_) page_.volumes.push_back(page_volume(name, "", *images_.open(name), options_));
    html = report_html(page_, options_);
  }
  void cancel() override { cancellation_.request(); }
  void meanwhile() override {}
  std::string html;

 private:
  MemoryFiles images_;
  std::vector<std::string> names_;
  ReportPage page_;
  PageOptions options_;
  Cancellation cancellation_;
};

}  // namespace

void add_report(nb::module_& module) {
  module.def(
      "report_html",
      [](const std::string& title, const Pictures& pictures, const std::string& report, std::size_t size) {
        return guarded([&] {
          Page page(title, pictures, report, size);
          run_interruptible(page);
          return page.html;
        });
      },
      nb::sig("def report_html(title: str, pictures: collections.abc.Sequence[typing.Any], report: str, size: int) -> "
              "str"));
}

}  // namespace halocline::python
