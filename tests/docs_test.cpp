// labels: unit
// The documents: their length, their lines and their links.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace halocline::docs_test {
namespace {

namespace fs = std::filesystem;

const fs::path root = HALOCLINE_SOURCE_DIR;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::istringstream in(read(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::size_t words_in(const std::string& text) {
  std::istringstream in(text);
  return static_cast<std::size_t>(std::distance(std::istream_iterator<std::string>(in), {}));
}

// Folders of which README.md describes the rooms.
const std::vector<std::string> described{"cl", "host", "scheduling", "algorithms", "capi", "apps", "python"};

// README and its like, those of the layers, docs/, the guide and benchmarks/results.
std::vector<fs::path> pages() {
  std::vector<fs::path> folders{root, root / "docs", root / "docs" / "guide", root / "docs" / "guide" / "cpp",
                                root / "benchmarks" / "results"};
  for (const auto& folder : described) folders.push_back(root / folder);
  std::vector<fs::path> result;
  for (const fs::path& folder : folders)
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".md") result.push_back(entry.path());
  return result;
}

// Characters, not bytes, of UTF-8.
std::size_t width_of(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// The name of a heading in links, as code hosts make it: lower case, blanks to hyphens, no punctuation.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading.substr(heading.find_first_not_of("# "))) {
    const auto letter = static_cast<unsigned char>(c);
    if (c == ' ' || c == '-')
      anchor += '-';
    else if (std::isalnum(letter) != 0 || c == '_' || letter >= 0x80)
      anchor += static_cast<char>(std::tolower(letter));
  }
  return anchor;
}

// Lines outside of fenced blocks.
std::vector<std::string> prose_of(const fs::path& page) {
  std::vector<std::string> result;
  bool fenced = false;
  for (const auto& line : lines_of(page)) {
    if (line.starts_with("```"))
      fenced = !fenced;
    else if (!fenced)
      result.push_back(line);
  }
  return result;
}

std::set<std::string> anchors_of(const fs::path& page) {
  std::set<std::string> result;
  for (const auto& line : prose_of(page))
    if (line.starts_with('#')) result.insert(anchor_of(line));
  return result;
}

struct Link {
  std::string file, anchor;
};

// Links to files of the tree, of which some may continue in the next line.
std::vector<Link> links_of(const fs::path& page) {
  static const std::regex pattern(R"(\]\(([^)\s#]*)(#([^)\s]*))?\))");
  std::string text;
  for (const auto& line : prose_of(page)) text += line + "\n";
  std::vector<Link> result;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    if ((*at)[1].str().find("://") == std::string::npos) result.push_back({(*at)[1], (*at)[3]});
  return result;
}

TEST(Documents, ReadmeIsShort) {
  const auto words = words_in(read(root / "README.md"));
  EXPECT_LE(words, 700u);
  EXPECT_GT(words, 300u);
}

TEST(Documents, ResultsAreShort) {
  int files = 0;
  for (const auto& page : pages()) {
    if (page.parent_path().filename() != "results") continue;
    ++files;
    EXPECT_LE(lines_of(page).size(), 150u) << page;
    EXPECT_TRUE(fs::exists(fs::path(page).replace_extension(".json"))) << page << " is written from nothing";
  }
  EXPECT_GE(files, 2);
}

TEST(Documents, LinesAreShort) {
  for (const auto& page : pages()) {
    const auto lines = lines_of(page);
    for (std::size_t n = 0; n < lines.size(); ++n) {
      const bool table = lines[n].starts_with('|'), link = lines[n].find("](") != std::string::npos;
      if (table || link) continue;
      EXPECT_LE(width_of(lines[n]), 120u) << page << ":" << n + 1;
    }
  }
}

TEST(Documents, LinksLeadSomewhere) {
  std::size_t links = 0;
  for (const auto& page : pages())
    for (const auto& link : links_of(page)) {
      ++links;
      const fs::path target = link.file.empty() ? page : page.parent_path() / link.file;
      if (!fs::exists(target)) {
        ADD_FAILURE() << page << " links to " << link.file << ", which is not there";
        continue;
      }
      if (link.anchor.empty()) continue;
      EXPECT_TRUE(anchors_of(target).contains(link.anchor))
          << page << " links to " << link.file << "#" << link.anchor << ", which is no heading there";
    }
  EXPECT_GT(links, 40u);
}

TEST(Documents, LinksLeadToWhatIsInstalled) {
  std::set<std::string> installed{"LICENSE", "CITATION.cff"};
  for (const auto& page : pages()) installed.insert(page.lexically_relative(root).generic_string());
  for (const auto& page : pages())
    for (const auto& link : links_of(page)) {
      if (link.file.empty()) continue;
      const fs::path target = (page.parent_path() / link.file).lexically_normal();
      const std::string path = target.lexically_relative(root).generic_string();
      EXPECT_TRUE(installed.contains(path) || path.starts_with("docs/") || path.starts_with("benchmarks/results/"))
          << page << " links to " << path << ", which is not installed with the documents: name it in backticks";
    }
}

TEST(Documents, EveryPageIsLinked) {
  std::set<fs::path> linked;
  for (const auto& page : pages())
    for (const auto& link : links_of(page))
      if (!link.file.empty()) linked.insert((page.parent_path() / link.file).lexically_normal());
  for (const auto& page : pages())
    EXPECT_TRUE(page.filename() == "README.md" || linked.contains(page.lexically_normal()))
        << page << " is linked from no page";
}

TEST(Documents, NameFilesThatAreThere) {
  // Paths in backticks that begin with a folder of the tree and have an extension, without places for a name.
  static const std::regex pattern(
      R"(`((apps|capi|algorithms|scheduling|host|cl|itk|slicer|python|packaging|tests|scripts|benchmarks|cmake|docs)/[\w./-]+\.\w+)`)");
  int files = 0;
  for (const auto& page : pages())
    for (const auto& line : prose_of(page))
      for (std::sregex_iterator at(line.begin(), line.end(), pattern), end; at != end; ++at) {
        const std::string file = (*at)[1];
        if (file.find("abc") != std::string::npos) continue;  // a file that a reader is to add
        ++files;
        EXPECT_TRUE(fs::exists(root / file)) << page << " names " << file;
      }
  EXPECT_GT(files, 10);
}

// The README of a layer names files from its own folder on, or from the root.
TEST(Documents, LayersNameFilesThatAreThere) {
  static const std::regex pattern(R"(`([\w-]+/[\w./-]+\.\w+)`)");
  int files = 0;
  for (const auto& folder : described)
    for (const auto& line : prose_of(root / folder / "README.md"))
      for (std::sregex_iterator at(line.begin(), line.end(), pattern), end; at != end; ++at) {
        ++files;
        const std::string file = (*at)[1];
        EXPECT_TRUE(fs::exists(root / folder / file) || fs::exists(root / file)) << folder << " names " << file;
      }
  EXPECT_GT(files, 10);
}

// Papers whose tables are remade: each section has examples, which tests run (run_examples.sh).
// Names that sources ask the environment for, or set, are in the table of docs/installing.md.
TEST(Documents, ListEveryEnvironmentVariable) {
  const std::string page = read(root / "docs" / "installing.md");
  const std::regex asked("(?:getenv|setenv|environment)\\(\"([A-Z_]+)\"");
  std::set<std::string> names;
  for (const char* layer : {"host", "scheduling", "algorithms", "capi", "itk", "apps"})
    for (const auto& entry : fs::recursive_directory_iterator(root / layer)) {
      if (entry.path().extension() != ".cpp") continue;
      const std::string text = read(entry.path());
      for (std::sregex_iterator at(text.begin(), text.end(), asked), end; at != end; ++at) names.insert((*at)[1]);
    }
  EXPECT_GE(names.size(), 10u);
  for (const std::string& name : names)
    EXPECT_NE(page.find('`' + name), std::string::npos) << name << " is not in docs/installing.md";
}

TEST(Documents, EachPaperHasCommandsThatRun) {
  std::map<std::string, int> commands;
  std::string section;
  bool fenced = false;
  for (const auto& line : lines_of(root / "docs" / "papers.md")) {
    if (line.starts_with("```")) {
      fenced = line == "```sh";
    } else if (line.starts_with("## ")) {
      section = line;
      commands[section] = 0;
    } else if (fenced && line.starts_with("halocline ")) {
      ++commands[section];
    }
  }
  EXPECT_GE(commands.size(), 5u);
  for (const auto& [title, count] : commands) EXPECT_GT(count, 0) << title << " has no command that runs";
}

}  // namespace
}  // namespace halocline::docs_test
