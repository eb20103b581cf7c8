// Files of compiled kernels, under the key that the first line says.
// lines of: host/opencl/program_cache.cpp
#include "host/opencl/program_cache.hpp"

#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void program_cache(const std::string& bytes) {
  const std::size_t end = bytes.find('\n');
  const std::string key = bytes.substr(0, end), rest = end == std::string::npos ? "" : bytes.substr(end + 1);
  const ProgramCache cache(path_of("cache"));
  cache.store(key, {rest.begin(), rest.end()});
  require(cache.load(key) == std::vector<unsigned char>(rest.begin(), rest.end()), "another binary than was stored");
  const std::string path = cache.path_of("key");
  const std::string name = "cache/" + std::filesystem::path(path).filename().string();
  file_of(name, rest);
  cache.load("key");
  file_of(name, rest);
  std::filesystem::permissions(path, std::filesystem::perms::others_write, std::filesystem::perm_options::add);
  require(!cache.load("key"), "a binary that others may have put there");
  std::filesystem::remove(path);
}
const Registered registered("program_cache", program_cache);

}  // namespace
}  // namespace halocline::fuzz
