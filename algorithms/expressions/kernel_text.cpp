// OpenCL C of a pass.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "algorithms/expressions/pass.hpp"

namespace halocline::expressions {
namespace {

// A part of a formula. Parentheses are needed where something binds more strongly.
struct Text {
  enum Binding { sums, products, signs, calls };
  std::string text;
  Binding binding = calls;
  std::string within(Binding around) const { return binding < around ? "(" + text + ")" : text; }
};

std::string index_of(int axis) {
  return std::string(1, "xyz"[axis]);
}
std::string size_of(int axis) {
  return "extent.n" + index_of(axis);
}

// Growth of an index towards the element `by` further along the axis.
std::string step_of(int axis, int by) {
  const std::string count = std::to_string(std::abs(by)), sign = by < 0 ? " - " : " + ";
  if (axis == 0) return sign + count;
  const std::string stride = axis == 1 ? "(size_t)extent.nx" : "(size_t)extent.nx * extent.ny";
  return sign + (std::abs(by) == 1 ? stride : count + " * " + stride);
}

// Condition under which that element exists.
std::string inside(int axis, int by) {
  return by < 0 ? fmt::format("{} >= {}", index_of(axis), -by)
                : fmt::format("{} + {} < {}", index_of(axis), by, size_of(axis));
}

Text neighbour(Op op, const Pass::Element& element) {
  const std::string array = fmt::format("x{}", element.array), own = fmt::format("v{}", element.array);
  const int axis = element.axis;
  const auto at = [&](int by) { return fmt::format("{}[at{}]", array, step_of(axis, by)); };
  if (op == Op::shifted && element.by == 0) return {fmt::format("{}[at]", array)};
  if (op == Op::shifted) return {fmt::format("({} ? {} : 0.0f)", inside(axis, element.by), at(element.by))};
  if (op == Op::difference) return {fmt::format("({} ? {} - {} : 0.0f)", inside(axis, 1), at(1), own)};
  return {fmt::format("({} ? {} : 0.0f) - ({} ? {} : 0.0f)", inside(axis, -1), at(-1), inside(axis, 1), own),
          Text::sums};
}

// The last values of the stack become one.
class Formula {
 public:
  explicit Formula(int first_scalar) : scalar_(first_scalar) {}

  void push(Text text) { stack_.push_back(std::move(text)); }
  void push_scalar() { push({fmt::format("s{}", scalar_++)}); }
  void apply(Op op) {
    switch (op) {
      case Op::negate:
        return push({"-" + pop().within(Text::calls), Text::signs});
      case Op::absolute:
        return call("fabs", 1);
      case Op::square_root:
        return call("sqrt", 1);
      case Op::exponential:
        return call("exp", 1);
      case Op::logarithm:
        return call("log", 1);
      case Op::minimum:
        return call("fmin", 2);
      case Op::maximum:
        return call("fmax", 2);
      case Op::fused:
        return call("fma", 3);
      case Op::add:
        return join("+", Text::sums);
      case Op::subtract:
        return join("-", Text::sums);
      case Op::multiply:
        return join("*", Text::products);
      case Op::divide:
        return join("/", Text::products);
      case Op::greater:
        return choose("{} > {}", 2, "1.0f", "0.0f");
      case Op::where: {
        const Text otherwise = pop(), then = pop();
        return choose("{} > 0.0f", 1, then.within(Text::sums), otherwise.within(Text::sums));
      }
      default:
        return;  // leaves, and sums, which have no value
    }
  }
  Text pop() {
    Text last = std::move(stack_.back());
    stack_.pop_back();
    return last;
  }
  int next_scalar() const { return scalar_; }

 private:
  void join(const char* sign, Text::Binding binding) {
    const Text b = pop(), a = pop();
    const auto stronger = static_cast<Text::Binding>(binding + 1);
    push({fmt::format("{} {} {}", a.within(binding), sign, b.within(stronger)), binding});
  }
  void call(const char* function, int count) {
    std::string arguments;
    for (int n = 0; n < count; ++n) arguments = pop().text + (n > 0 ? ", " : "") + arguments;
    push({fmt::format("{}({})", function, arguments)});
  }
  void choose(const char* condition, int count, const std::string& then, const std::string& otherwise) {
    const std::string b = count > 1 ? pop().within(Text::sums) : "", a = pop().within(Text::sums);
    push({fmt::format("({} ? {} : {})", fmt::format(fmt::runtime(condition), a, b), then, otherwise)});
  }

  std::vector<Text> stack_;
  int scalar_;
};

// Everything of a kernel but its frame. `wide`: of four elements at a time, each computed by itself.
class PassText {
 public:
  explicit PassText(const Pass& pass, bool wide = false)
      : roles_(roles_of(pass)), type_(wide ? "float4" : "float"), wide_(wide) {
    for (std::size_t n = 0; n < roles_.scalars.size(); ++n)
      if (roles_.scalars[n]) body_ += "  " + line("const float s{0} = numbers[at{0}];", n);
    for (std::size_t n = 0; n < roles_.arrays.size(); ++n)
      if (roles_.arrays[n].loaded) body_ += "  " + type_ + line(" v{0} = x{0}[at];", n), defined_.push_back(n);
    for (const auto& each : pass.lines) add(each);
    for (std::size_t n = 0; n < roles_.arrays.size(); ++n)
      if (roles_.arrays[n].stored) body_ += "  " + line("x{0}[at] = v{0};", n);
  }

  const std::string& body() const { return body_; }
  const std::string& terms() const { return terms_; }
  const Roles& roles() const { return roles_; }
  // Arguments with types, or the names alone.
  std::string arguments(bool types, const char* restricted) const {
    std::string result;
    for (std::size_t n = 0; n < roles_.arrays.size(); ++n) {
      const Role& role = roles_.arrays[n];
      if (!role.is_argument()) continue;
      if (types) result += fmt::format("__global {}{}*{} ", role.stored ? "" : "const ", type_, restricted);
      result += fmt::format("x{}, ", n);
    }
    for (std::size_t n = 0; n < roles_.scalars.size(); ++n)
      result += fmt::format(fmt::runtime(roles_.scalars[n] ? "{}at{}, " : "{}s{}, "),
                            !types              ? ""
                            : roles_.scalars[n] ? "int "
                                                : "float ",
                            n);
    if (roles_.reads_numbers())
      result += types ? fmt::format("__global const float*{} numbers, ", restricted) : "numbers, ";
    return result;
  }

 private:
  static std::string line(const char* pattern, std::size_t n) { return fmt::format(fmt::runtime(pattern), n) + "\n"; }

  void add(const Pass::Line& each) {
    const auto target = static_cast<std::size_t>(each.target);
    const bool known = each.target < 0 || std::find(defined_.begin(), defined_.end(), target) != defined_.end();
    if (!known) defined_.push_back(target);
    if (!known && wide_) body_ += "  " + type_ + line(" v{0};", target);
    int next_scalar = scalars_;
    for (const char* component : wide_ ? std::vector<const char*>{".x", ".y", ".z", ".w"} : std::vector{""}) {
      Formula formula(scalars_);
      write(each, component, formula);
      next_scalar = formula.next_scalar();
      if (each.target >= 0)
        body_ +=
            fmt::format("  {}v{}{} = {};\n", known || wide_ ? "" : "float ", target, component, formula.pop().text);
    }
    scalars_ = next_scalar;
  }

  void write(const Pass::Line& each, const char* component, Formula& formula) {
    std::size_t next = 0;
    for (const Op op : each.form->code) {
      if (op == Op::array)
        formula.push({fmt::format("v{}{}", each.operands[next++].array, component)});
      else if (reads_neighbours(op))
        formula.push(neighbour(op, each.operands[next++]));
      else if (op == Op::scalar)
        formula.push_scalar();
      else if (is_reduction(op))
        reduce(op, formula);
      else
        formula.apply(op);
    }
  }

  void reduce(Op op, Formula& formula) {
    const char* sign = op == Op::distance_sum ? " - " : " * ";
    std::string term;
    for (int n = op == Op::sum || op == Op::largest ? 1 : op == Op::triple_product_sum ? 3 : 2; n > 0; --n) {
      const std::string name = fmt::format("t{}", values_++);
      body_ += fmt::format("  const float {} = {};\n", name, formula.pop().text);
      term = fmt::format("(real){}{}", name, term.empty() ? "" : sign + term);
    }
    if (op == Op::distance_sum) term = fmt::format("({}) * ({})", term, term);
    if (op == Op::largest) term += " + (real)0";  // -0 becomes 0: which of them is found depends on the order
    terms_ += (terms_.empty() ? "" : ", ") + term;
  }

  Roles roles_;
  std::string type_;
  bool wide_;
  std::vector<std::size_t> defined_;
  std::string body_, terms_;
  int scalars_ = 0, values_ = 0;
};

constexpr const char* place =
    "(size_t)x + (size_t)extent.nx * ((size_t)y + (size_t)extent.ny * (size_t)(z - extent.offset))";

std::string text_with_sums(const PassText& text) {
  const int sums = text.roles().sums;
  std::string terms = text.terms();
  for (int n = sums; n < 4; ++n) terms += ", 0";
  std::string result = "#include \"sums.clh\"\n\n";
  result += fmt::format(
      "INLINE real4 terms_at({}int x, int y, int z, Extent extent) {{\n  const size_t at = {};\n{}"
      "  return (real4)({});\n}}\n\n",
      text.arguments(true, ""), place, text.body(), terms);
  result += fmt::format(
      "__kernel void expression({}__global sum_t* restrict partials, Extent extent) {{\n"
      "  STORE_SUMS({}, terms_at({}x, y, z, extent))\n}}\n",
      text.arguments(true, " restrict"), sums, text.arguments(false, ""));
  return result;
}

// Two spaces further in.
std::string indented(const std::string& lines) {
  std::string result;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at) + 1;
    result += "  " + lines.substr(at, end - at);
    at = end;
  }
  return result;
}

std::string text_with_neighbours(const PassText& text) {
  return fmt::format(
      "#include \"extent.clh\"\n\n__kernel void stencil({}Extent extent) {{\n"
      "  const int y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);\n"
      "  if (y >= extent.ny || z >= extent.end) return;\n"
      "  const int begin = ELEMENTS * (int)get_global_id(0), last = min(begin + ELEMENTS, extent.nx);\n"
      "  for (int x = begin; x < last; ++x) {{\n    const size_t at = {};\n{}  }}\n}}\n",
      text.arguments(true, " restrict"), place, indented(text.body()));
}

std::string text_of_elements(const PassText& text) {
  return fmt::format(
      "\n__kernel void expression({}ulong first, ulong end) {{\n"
      "  const size_t begin = first + ELEMENTS * get_global_id(0), last = min(begin + ELEMENTS, (size_t)end);\n"
      "  for (size_t at = begin; at < last; ++at) {{\n{}  }}\n}}\n",
      text.arguments(true, " restrict"), indented(text.body()));
}

constexpr const char* before_all = "#pragma OPENCL FP_CONTRACT OFF\n";

}  // namespace

std::string kernel_text(const Pass& pass) {
  const PassText text(pass);
  return before_all + (text.roles().sums > 0     ? text_with_sums(text)
                       : text.roles().neighbours ? text_with_neighbours(text)
                                                 : text_of_elements(text));
}

std::string wide_kernel_text(const Pass& pass) {
  return before_all + text_of_elements(PassText(pass, true));
}

}  // namespace halocline::expressions
