// labels: unit
// The rules of the source tree that a compiler does not check.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/source_functions.hpp"
#include "tests/support/source_text.hpp"

namespace halocline::layering_test {
namespace {

namespace fs = std::filesystem;

// Each folder includes itself and those before it.
const std::vector<std::string> layers{"cl",  "host", "scheduling", "algorithms", "capi",
                                      "itk", "apps", "python",     "slicer"};

// Rooms of each layer; files in the layer's own folder include all of its rooms.
const std::map<std::string, std::vector<std::string>> rooms{
    {"host", {"system", "opencl", "volume"}},
    {"scheduling", {"planning", "slabs", "profiling", "transport", "execution"}},
    {"algorithms",
     {"support", "geometry", "phantoms", "preprocessing", "projectors", "matrix", "expressions", "fdk", "alignment",
      "checks", "noise", "denoisers", "calibration", "denoise", "solvers", "metrics", "jobs"}},
    {"apps", {"images", "checkpoint", "report", "drawing", "bench", "job", "options", "help", "commands"}}};

struct Source {
  std::string path;  // from the root of the tree
  std::string text;
  std::string folder() const { return path.substr(0, path.find('/')); }
  std::string stem() const { return fs::path(path).stem().string(); }
  bool has_extension(const std::string& extension) const { return fs::path(path).extension() == extension; }
};

std::vector<Source> read_tree() {
  std::vector<Source> result;
  const fs::path root = HALOCLINE_SOURCE_DIR;
  for (const char* folder : {"cl", "host", "scheduling", "algorithms", "capi", "itk", "apps", "tests", "benchmarks",
                             "cmake", "scripts", "slicer", "python", "packaging", "docs/gallery", "docs/guide"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      result.push_back({fs::relative(entry.path(), root).generic_string(), {std::istreambuf_iterator<char>(in), {}}});
    }
  }
  return result;
}

const std::vector<Source>& tree() {
  static const auto sources = read_tree();
  return sources;
}

bool is_code(const Source& source) {
  return source.has_extension(".cpp") || source.has_extension(".hpp") || source.has_extension(".h") ||
         source.has_extension(".cl") || source.has_extension(".clh");
}

bool is_python(const Source& source) {
  return source.has_extension(".py") || source.text.starts_with("#!/usr/bin/env python");
}

std::vector<std::string> includes_of(const Source& source) {
  static const std::regex pattern(R"(^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"])", std::regex::multiline);
  std::vector<std::string> result;
  for (std::sregex_iterator at(source.text.begin(), source.text.end(), pattern), end; at != end; ++at)
    result.push_back((*at)[1]);
  return result;
}

std::size_t layer_of(const std::string& folder) {
  return static_cast<std::size_t>(std::find(layers.begin(), layers.end(), folder) - layers.begin());
}

std::string without_comments(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, 2, "//") == 0) {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.compare(at, 2, "/*") == 0) {
      const auto close = text.find("*/", at + 2);
      at = close == std::string::npos ? text.size() : close + 2;
      result += ' ';
    } else {
      result += text[at++];
    }
  }
  return result;
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Position of `word` standing alone, from `at` on.
std::size_t find_word(const std::string& text, const std::string& word, std::size_t at = 0) {
  for (at = text.find(word, at); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_name_character(text[at - 1]);
    const bool ends = at + word.size() == text.size() || !is_name_character(text[at + word.size()]);
    if (begins && ends) return at;
  }
  return at;
}

// Names of the kernels of a file; a name that is a macro stands for all names that the file defines it as.
std::vector<std::string> kernels_of(const Source& source) {
  const auto text = without_comments(source.text);
  std::vector<std::string> result;
  for (auto at = find_word(text, "__kernel"); at != std::string::npos; at = find_word(text, "__kernel", at + 1)) {
    auto begin = find_word(text, "void", at);
    if (begin == std::string::npos) break;
    begin = text.find_first_not_of(" \t\r\n", begin + 4);
    auto end = begin;
    while (end < text.size() && is_name_character(text[end])) ++end;
    const auto name = text.substr(begin, end - begin);
    const std::regex definition("#[ \t]*define[ \t]+" + name + "[ \t]+(\\w+)");
    bool macro = false;
    for (std::sregex_iterator found(text.begin(), text.end(), definition), none; found != none; ++found) {
      result.push_back((*found)[1]);
      macro = true;
    }
    if (!macro) result.push_back(name);
  }
  return result;
}

// Number of parameters of each kernel of a file, as they are written: those of all branches of conditional compilation
// count, and a macro that stands for some counts with the one after it.
std::map<std::string, std::size_t> parameters_of(const Source& source) {
  static const std::regex directive("(^|\n)[ \t]*#[^\n]*");
  const auto text = std::regex_replace(without_comments(source.text), directive, "$1");
  std::map<std::string, std::size_t> result;
  for (auto at = find_word(text, "__kernel"); at != std::string::npos; at = find_word(text, "__kernel", at + 1)) {
    const auto begin = text.find_first_not_of(" \t\r\n", find_word(text, "void", at) + 4);
    auto open = text.find('(', begin);
    auto& most = result[text.substr(begin, open - begin)];
    std::size_t count = 1;
    for (int depth = 1; depth > 0;) {
      const char c = text.at(++open);
      depth += (c == '(') - (c == ')');
      count += depth == 1 && c == ',';
    }
    most = std::max(most, count);
  }
  return result;
}

TEST(Layering, hasATreeToLookAt) {
  EXPECT_GT(tree().size(), 40u);
  for (const auto& layer : layers)
    EXPECT_TRUE(std::any_of(tree().begin(), tree().end(), [&](const Source& s) { return s.folder() == layer; }))
        << layer;
}

TEST(Layering, includesPointDownwards) {
  for (const auto& source : tree()) {
    const auto own = layer_of(source.folder());
    if (own == layers.size() || !is_code(source)) continue;
    for (const auto& include : includes_of(source)) {
      const auto slash = include.find('/');
      const auto other = layer_of(include.substr(0, slash == std::string::npos ? 0 : slash));
      if (other == layers.size()) continue;
      EXPECT_LE(other, own) << source.path << " includes " << include;
      EXPECT_TRUE(fs::exists(fs::path(HALOCLINE_SOURCE_DIR) / include)) << source.path << " includes " << include;
    }
  }
}

bool lies_in_layer_itself(const std::string& path) {
  return std::count(path.begin(), path.end(), '/') == 1;
}

// Place of the room of a path among those of its layer; as many as there are for none of them.
std::size_t room_of(const std::string& path) {
  const auto first = path.find('/') + 1;
  const auto& order = rooms.at(path.substr(0, first - 1));
  const auto found = std::find(order.begin(), order.end(), path.substr(first, path.find('/', first) - first));
  return static_cast<std::size_t>(found - order.begin());
}

TEST(Layering, roomsIncludeThoseBeforeThem) {
  std::map<std::string, int> files;
  for (const auto& source : tree()) {
    const auto layer = rooms.find(source.folder());
    if (layer == rooms.end() || !is_code(source)) continue;
    ++files[layer->first];
    const std::size_t own = room_of(source.path);
    const bool in_room = own < layer->second.size();
    EXPECT_TRUE(in_room || (layer->first == "apps" && lies_in_layer_itself(source.path)))
        << source.path << " is in none of the rooms";
    for (const auto& include : includes_of(source)) {
      if (include.starts_with(layer->first + "/")) {
        EXPECT_LE(room_of(include), own) << source.path << " includes " << include;
      }
      EXPECT_FALSE(include.starts_with("benchmarks/")) << source.path << " includes " << include;
    }
  }
  EXPECT_GT(files["scheduling"], 50);
  EXPECT_GT(files["algorithms"], 100);
  EXPECT_GT(files["apps"], 100);
}

// tests/<layer>/<room> tests <layer>/<room>; shared parts are in separate folders.
TEST(Layering, testsMirrorTheRooms) {
  static const std::vector<std::string> shared{"consumer",  "fuzz",       "mpi",    "oclgrind", "portability",
                                               "reference", "sanitizers", "slicer", "soak",     "support"};
  int mirrored = 0;
  for (const auto& source : tree()) {
    if (source.folder() != "tests" || lies_in_layer_itself(source.path)) continue;
    const auto below = fs::path(source.path).lexically_relative("tests").parent_path();
    if (std::find(shared.begin(), shared.end(), below.begin()->string()) != shared.end()) continue;
    ++mirrored;
    EXPECT_LT(layer_of(below.begin()->string()), layers.size()) << source.path;
    EXPECT_TRUE(fs::is_directory(fs::path(HALOCLINE_SOURCE_DIR) / below)) << source.path << " mirrors no room";
  }
  EXPECT_GT(mirrored, 100);
}

TEST(Layering, openClStaysInHost) {
  for (const auto& source : tree()) {
    if (layer_of(source.folder()) == layers.size() || source.folder() == "host") continue;
    if (!is_code(source) || source.folder() == "cl") continue;
    for (const auto& include : includes_of(source)) {
      EXPECT_FALSE(include.starts_with("CL/") || include.ends_with("opencl.hpp"))
          << source.path << " includes " << include;
    }
    const auto code = without_comments(source.text);
    static const std::regex pattern(R"((^|[^A-Za-z0-9_])(cl::|cl_[a-z]+[^A-Za-z0-9_:.]|CL_[A-Z]|cl[A-Z][A-Za-z]+\())");
    std::smatch found;
    EXPECT_FALSE(std::regex_search(code, found, pattern)) << source.path << " has " << found.str();
  }
}

// itk/ has headers for those who use ITK themselves; the library and the command do without them.
TEST(Layering, itkStaysInImagesAndItk) {
  for (const auto& source : tree()) {
    if (source.folder() == "itk" || source.path.starts_with("tests/itk/") || !is_code(source)) continue;
    for (const auto& include : includes_of(source)) {
      if (source.path.starts_with("apps/images/")) {
        EXPECT_FALSE(include.starts_with("itk/")) << source.path << " includes " << include;
        continue;
      }
      EXPECT_FALSE(include.starts_with("itk") || include.starts_with("ITK") || include.starts_with("gdcm"))
          << source.path << " includes " << include;
    }
  }
}

TEST(Layering, mpiStaysInTransport) {
  for (const auto& source : tree()) {
    if (source.path.starts_with("scheduling/transport/mpi_") || source.path.starts_with("tests/mpi/") ||
        !is_code(source))
      continue;
    for (const auto& include : includes_of(source))
      EXPECT_FALSE(include == "mpi.h" || include.starts_with("mpi/")) << source.path << " includes " << include;
    static const std::regex call("MPI_[A-Z][a-z]+(_[a-z_]+)?\\(");
    EXPECT_FALSE(std::regex_search(without_comments(source.text), call)) << source.path << " calls MPI";
  }
}

TEST(Layering, noKernelFileShadowsTheSdk) {
  for (const auto& source : tree()) {
    auto name = fs::path(source.path).filename().string();
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (source.folder() == "cl") {
      EXPECT_TRUE(name != "cl.h" && name != "opencl.h" && name != "opencl.hpp" && name != "cl2.hpp") << source.path;
    }
  }
}

TEST(Layering, kernelsAreNamedAfterTheirFile) {
  int files = 0;
  for (const auto& source : tree()) {
    if (!source.has_extension(".cl")) continue;
    ++files;
    const auto kernels = kernels_of(source);
    EXPECT_FALSE(kernels.empty()) << source.path << " has no kernel";
    for (const auto& kernel : kernels)
      EXPECT_TRUE(kernel == source.stem() || kernel.starts_with(source.stem() + "_"))
          << source.path << " has " << kernel;
  }
  EXPECT_GT(files, 5);
}

constexpr std::size_t most_parameters = 11;

// Kernels that have more, and why. This may only get shorter.
const std::map<std::string, std::string> more_parameters{
    {"copy_several", "four copies in one command, each from and to a buffer of its own"},
};

// Arguments that belong together go into a struct: cl/extent.clh.
TEST(Layering, kernelsTakeFewParameters) {
  std::size_t kernels = 0;
  for (const auto& source : tree()) {
    if (source.folder() != "cl") continue;
    for (const auto& [name, count] : parameters_of(source)) {
      ++kernels;
      if (more_parameters.contains(name))
        EXPECT_GT(count, most_parameters) << name << " has few enough: take it from the list";
      else
        EXPECT_LE(count, most_parameters) << name << " in " << source.path;
    }
  }
  EXPECT_GT(kernels, 70u);
}

TEST(Layering, parametersOfKernelsAreCounted) {
  const Source source{"cl/a.cl", R"(// __kernel void a_none(int x) {}
__kernel __attribute__((reqd_work_group_size(8, 8, 1))) void a_run(__global float* to,
#ifdef MORE  // a, b
                                                                   int more, int again,
#endif
                                                                   MACRO Extent extent, float (*f)(int, int)) {}
#if A
__kernel void a_two(int x) { f(x, x); }
#else
__kernel void a_two(int x, int y) {}
#endif
)"};
  EXPECT_EQ(parameters_of(source), (std::map<std::string, std::size_t>{{"a_run", 5}, {"a_two", 2}}));
}

// Who calls the library knows no command line: what it says names parameters (host/system/error.hpp), and apps/ says
// which flag that is (apps/job/option_names.hpp). apps/images, apps/checkpoint and apps/report are libraries, and
// apps/bench knows no command line either.
TEST(Layering, noFlagOfTheCommandStandsBelowApps) {
  static const std::regex flag("(^|[^-\\w])--[a-z]"), short_flag("(^|[ '\"(])-[giom]($|[ '\",;)])");
  int files = 0;
  for (const auto& source : tree()) {
    const bool below = layer_of(source.folder()) < layer_of("apps");
    if (!is_code(source) ||
        !(below || source.path.starts_with("apps/images/") || source.path.starts_with("apps/checkpoint/") ||
          source.path.starts_with("apps/report/") || source.path.starts_with("apps/bench/")))
      continue;
    ++files;
    const auto [literals, comments, code] = halocline::text_of_source(source.text);
    for (const auto& texts : {literals, comments})
      for (const auto& text : texts) EXPECT_FALSE(std::regex_search(text, flag)) << source.path << " says " << text;
    for (const auto& text : literals)
      EXPECT_FALSE(std::regex_search(text, short_flag)) << source.path << " says " << text;
  }
  EXPECT_GT(files, 300);
}

TEST(Layering, textsOfSourcesAreFound) {
  const auto [literals, comments, code] = halocline::text_of_source(
      "f('\"', \"a \\\"b\\\" \"\n  // of c\n  \"c\", \"d\"); x = 1'000 - --y; /* e\n */ g('\\'', R\"q(--h \"i\")q\");");
  EXPECT_EQ(literals, (std::vector<std::string>{"a \"b\" c", "d", "--h \"i\""}));
  EXPECT_EQ(comments, (std::vector<std::string>{" of c", " e\n "}));
  EXPECT_EQ(code, "f(\"\", \"\"\n  \n  \"\", \"\"); x = 1'000 - --y; \n g(\"\", R\"\");");
}

constexpr std::size_t most_lines_of_file = 500, most_lines_of_function = 80;

// Files, and functions as "path: name", that are longer, and why. This may only get shorter.
const std::map<std::string, std::string> longer{};

TEST(Layering, filesAndFunctionsAreShort) {
  std::map<std::string, std::size_t> found;
  std::size_t functions = 0;
  for (const auto& source : tree()) {
    const bool library = layer_of(source.folder()) < layers.size() && source.folder() != "cl";
    if (!library || !is_code(source)) continue;
    const auto lines = static_cast<std::size_t>(std::count(source.text.begin(), source.text.end(), '\n'));
    if (lines > most_lines_of_file) found[source.path] = lines;
    std::vector<halocline::SourceFunction> all;
    ASSERT_NO_THROW(all = halocline::functions_of_source(source.text)) << source.path;
    functions += all.size();
    for (const auto& function : all)
      if (function.lines > most_lines_of_function) found[source.path + ": " + function.name] = function.lines;
  }
  EXPECT_GT(functions, 2000u);
  for (const auto& [what, lines] : found)
    EXPECT_TRUE(longer.contains(what)) << what << " has " << lines << " lines: split it";
  for (const auto& [what, reason] : longer)
    EXPECT_TRUE(found.contains(what)) << what << " is short enough: take it from the list";
}

TEST(Layering, functionsOfSourcesAreFound) {
  const auto functions = halocline::functions_of_source(R"(// {
#define MANY(a) { a; \
  {
namespace a {
enum class Kind { one, two };
constexpr int sizes[] = {f(1), 2}, more = {3};
struct Point : Base {
  explicit Point(int x) : x_{x}, y_(0) {}
  bool operator==(const Point& o) const { return x_ == o.x_; }
  int x_{0};
};
const auto lambda = [](int n = 0) {
  return n;
};
std::function<int(int)> of(
    const std::vector<int>& v = {}) {
  if (v.empty()) { throw "}"; }
  struct Inner {
    int g() { return '{'; }
  };
  return {};
}
Point::~Point() {}
}  // namespace a
)");
  std::vector<std::string> found;
  for (const auto& function : functions) found.push_back(function.name + " " + std::to_string(function.lines));
  EXPECT_EQ(found, (std::vector<std::string>{"Point 1", "operator== 1", "lambda 3", "of 8", "Point::~Point 1"}));
  EXPECT_THROW(halocline::functions_of_source("void f() {"), std::logic_error);
  EXPECT_THROW(halocline::functions_of_source("}"), std::logic_error);
}

TEST(Layering, mathIsNeverRelaxed) {
  const std::string option = "relaxed" + std::string("-math"), unsafe = "unsafe" + std::string("-math");
  for (const auto& source : tree()) {
    EXPECT_EQ(source.text.find(option), std::string::npos) << source.path;
    EXPECT_EQ(source.text.find(unsafe), std::string::npos) << source.path;
  }
}

TEST(Layering, nothingIsLeftToDo) {
  for (const std::string word : {"TO"
                                 "DO",
                                 "FIX"
                                 "ME",
                                 "X"
                                 "XX"})
    for (const auto& source : tree())
      EXPECT_EQ(find_word(source.text, word), std::string::npos) << source.path << " has " << word;
}

// First lines of the comments that have lines to themselves.
std::vector<std::string> first_lines_of_comments(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> result;
  bool within = false;
  for (std::string line; std::getline(in, line);) {
    const auto begin = line.find_first_not_of(" \t");
    const bool comment = begin != std::string::npos && line.compare(begin, 2, "//") == 0;
    if (comment && !within) result.push_back(line.substr(std::min(line.find_first_not_of("/< \t"), line.size())));
    within = comment;
  }
  return result;
}

// First lines of comments in Python, and strings in triple quotes that begin a line.
std::vector<std::string> first_lines_of_python(const std::string& text) {
  static const std::regex quoted("[ \t]*[rf]?\"\"\"(.+)");
  std::istringstream in(text);
  std::vector<std::string> result;
  bool within = false;
  for (std::string line; std::getline(in, line);) {
    const auto begin = line.find_first_not_of(" \t");
    const bool comment = begin != std::string::npos && line.compare(begin, 2, "# ") == 0;
    std::smatch found;
    if (comment && !within) result.push_back(line.substr(begin + 2));
    if (std::regex_match(line, found, quoted)) result.push_back(found[1]);
    within = comment;
  }
  return result;
}

TEST(Layering, commentsBeginWithANounOrAVerb) {
  static const std::regex pattern("(Of|What|Whether|The same of) .*");
  int code = 0, python = 0;
  for (const auto& source : tree()) {
    if (!is_code(source) && !is_python(source)) continue;
    ++(is_code(source) ? code : python);
    for (const auto& line : is_code(source) ? first_lines_of_comments(source.text) : first_lines_of_python(source.text))
      EXPECT_FALSE(std::regex_match(line, pattern)) << source.path << ": " << line << " (say what it is: a noun first)";
  }
  EXPECT_GT(code, 300);
  EXPECT_GT(python, 50);
}

TEST(Layering, commentsOfSourcesAreFound) {
  EXPECT_EQ(first_lines_of_comments("// Of a\n// What b\nint x;  // Of c\n\n  /// Whether d\n//\n"),
            (std::vector<std::string>{"Of a", "Whether d"}));
  EXPECT_EQ(first_lines_of_python("#!/usr/bin\n# Of a\n# What b\nx = 1  # Of c\n  \"\"\"What d.\n  Of e\"\"\"\n"),
            (std::vector<std::string>{"Of a", "What d."}));
}

TEST(Layering, testsSayWhatKindTheyAre) {
  static const std::regex pattern("// labels:( (unit|device|slab|error|nightly|dealt|app|itk|alone))+");
  for (const auto& source : tree()) {
    if (source.folder() != "tests" || !source.path.ends_with("_test.cpp")) continue;
    const auto first = source.text.substr(0, source.text.find('\n'));
    EXPECT_TRUE(std::regex_match(first, pattern)) << source.path << " begins with " << first;
  }
}

}  // namespace
}  // namespace halocline::layering_test
