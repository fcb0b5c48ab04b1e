// Plans that are kept between processes.
#include "kernels/cuda/plan_files.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace ptbench::testing {
namespace {

using cuda::PlanFiles;

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  return files;
}

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

}  // namespace

TEST_CASE("a plan that was kept is found again, by its name and on its site") {
  const TemporaryDirectory temporary;
  const std::filesystem::path folder = temporary.path() / "not" / "there";
  const PlanFiles files(folder, "one GPU");
  CHECK(files.load("a plan") == std::nullopt);
  files.keep("a plan", "text\nof two lines");
  files.keep("another plan", "other");
  CHECK(files.load("a plan") == "text\nof two lines");
  CHECK(PlanFiles(folder, "one GPU").load("another plan") == "other");
  CHECK(PlanFiles(folder, "another GPU").load("a plan") == std::nullopt);
  files.keep("a plan", "newer");
  CHECK(files.load("a plan") == "newer");
  CHECK(files_in(folder).size() == 2);  // nothing temporary is left
}

TEST_CASE("a plan whose file is broken or another's is made anew") {
  const TemporaryDirectory temporary;
  const PlanFiles files(temporary.path(), "one GPU");
  files.keep("a plan", "some text");
  const std::filesystem::path file = files_in(temporary.path()).at(0);
  const std::string whole = content_of(file);
  std::string changed = whole;
  changed.back() = '?';
  std::string of_another = whole;
  of_another.replace(of_another.find("one GPU"), 7, "two GPU");
  for (const std::string& broken :
       {std::string(), whole.substr(0, whole.size() - 1), whole.substr(0, whole.find("some")),
        changed, of_another, whole.substr(0, 10), std::string("{}")}) {
    CAPTURE(broken);
    write(file, broken);
    CHECK(files.load("a plan") == std::nullopt);
    files.keep("a plan", "some text");
    CHECK(content_of(file) == whole);
  }
}

TEST_CASE("plans are kept nowhere where there is no place for them") {
  const TemporaryDirectory temporary;
  const PlanFiles nowhere(std::filesystem::path(), "one GPU");
  nowhere.keep("a plan", "text");
  CHECK(nowhere.load("a plan") == std::nullopt);
  write(temporary.path() / "file", "no folder");
  const PlanFiles below_a_file(temporary.path() / "file", "one GPU");
  below_a_file.keep("a plan", "text");
  CHECK(below_a_file.load("a plan") == std::nullopt);
  CHECK(content_of(temporary.path() / "file") == "no folder");
}

}  // namespace ptbench::testing
