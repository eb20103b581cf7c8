#include "scheduling/planning/program.hpp"

#include <algorithm>
#include <stdexcept>

namespace halocline {

Form form_of(const Program& program) {
  if (program.loop != nullptr) return Form::stencil;
  if (!program.each.empty() || program.first.size() != 1) return Form::steps;
  const Domain over = program.first.front().over;
  return over == Domain::voxel_sums ? Form::voxel_sums : over == Domain::ray_sums ? Form::ray_sums : Form::steps;
}

Program single_step(Requirements needs, std::function<void(Slab&)> start, Step step) {
  Program program;
  program.name = needs.algorithm;
  program.needs = std::move(needs);
  program.start.push_back(std::move(start));
  program.first.push_back(std::move(step));
  return program;
}

namespace {

const std::string& named(const Step& step, bool written) {
  for (const auto& [name, access] : step.arrays)
    if ((access != Access::in) == written) return name;
  throw std::logic_error(step.name + (written ? " writes" : " reads") + " no array");
}

}  // namespace

const std::string& read_by(const Step& step) {
  return named(step, false);
}

const std::string& written_by(const Step& step) {
  return named(step, true);
}

const ArrayNeed& array_of(const Requirements& requirements, const std::string& name) {
  const auto found = std::find_if(requirements.arrays.begin(), requirements.arrays.end(),
                                  [&](const ArrayNeed& need) { return need.name == name; });
  if (found == requirements.arrays.end())
    throw std::logic_error(requirements.algorithm + " did not declare an array " + name);
  return *found;
}

std::size_t whole_bytes(const ArrayNeed& need, const Requirements& requirements) {
  return array_bytes(need, requirements, static_cast<std::int64_t>(requirements.size[2]),
                     static_cast<std::int64_t>(requirements.stack[1]),
                     static_cast<std::int64_t>(requirements.stack[2]));
}

}  // namespace halocline
