// The rules on the tree as it is.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/architecture/include_rules.h"
#include "tests/architecture/size_rules.h"

namespace ptbench::architecture {
namespace {

namespace fs = std::filesystem;

/// Folders of the repository that hold text of ours; those that do not exist are passed over.
constexpr std::array kFolders{"app",    "src",     "kernels", "workloads", "strategies", "reports",
                              "charts", "page",    "exports", "bench",     "tests",      "cmake",
                              "docs",   "scripts", "peers",   ".ci"};

bool is_text_of_ours(const fs::path& path) {
  static constexpr std::array<std::string_view, 10> endings{
      "", ".h", ".cpp", ".cu", ".cmake", ".in", ".txt", ".md", ".json", ".py"};
  return std::ranges::find(endings, path.extension().string()) != endings.end();
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<SourceFile> read_tree() {
  const fs::path root = PTBENCH_SOURCE_DIR;
  const fs::path data = PTBENCH_TEST_DATA;
  std::vector<SourceFile> files;
  for (const char* folder : kFolders) {
    if (!fs::exists(root / folder)) continue;
    for (fs::recursive_directory_iterator at(root / folder), end; at != end; ++at) {
      if (at->path() == data) at.disable_recursion_pending();
      if (at->is_regular_file() && is_text_of_ours(at->path()))
        files.push_back({at->path().lexically_relative(root).generic_string(), read(at->path())});
    }
  }
  return files;
}

}  // namespace

TEST_CASE("the tree keeps to its architecture") {
  const std::vector<SourceFile> files = read_tree();
  std::string findings;
  int code = 0;
  for (const SourceFile& file : files) {
    if (file.path.ends_with("CMakeLists.txt")) findings += text_of(check_room_links(file));
    if (!is_code(file)) continue;
    ++code;
    findings += text_of(check_includes(file));
  }
  findings += text_of(check_one_dnn_file(files));
  INFO(findings);
  CHECK(findings.empty());
  CHECK(code > 20);  // or the tree was not found
}

TEST_CASE("files and rooms of the tree are small enough to be of one subject") {
  const std::vector<SourceFile> files = read_tree();
  const std::string findings = text_of(check_lengths(files)) + text_of(check_room_sizes(files));
  INFO(findings);
  CHECK(findings.empty());
}

TEST_CASE("nothing in the tree is marked as unfinished") {
  std::string findings;
  for (const SourceFile& file : read_tree()) findings += text_of(check_finished(file));
  INFO(findings);
  CHECK(findings.empty());
}

TEST_CASE("an operator with its layer is told of in six files, and in two of the CUDA engine") {
  // GELU has one way to be computed, a layer without keys, and nothing that is fused with it.
  std::vector<std::string> places;
  for (const SourceFile& file : read_tree()) {
    const bool names_it = file.text.find("GeluSpec") != std::string::npos ||
                          file.text.find("GeluLayer") != std::string::npos;
    if (is_code(file) && names_it && !file.path.starts_with("tests/")) places.push_back(file.path);
  }
  std::ranges::sort(places);
  CHECK(places == std::vector<std::string>{"kernels/cpu/elementwise.cpp", "kernels/cpu/operators.h",
                                           "kernels/cuda/gelu.cpp", "kernels/cuda/operators.h",
                                           "kernels/reference/operators.cpp", "kernels/spec.cpp",
                                           "kernels/spec.h", "workloads/layer.h"});
}

}  // namespace ptbench::architecture
