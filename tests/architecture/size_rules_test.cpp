#include "tests/architecture/size_rules.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace ptbench::architecture {
namespace {

SourceFile file_of(std::string path, std::size_t lines) {
  std::string text;
  for (std::size_t line = 0; line < lines; ++line) text += "int a;\n";
  return {std::move(path), std::move(text)};
}

}  // namespace

TEST_CASE("a file of 400 lines is too long, outside of tests") {
  const std::vector files{file_of("src/base/a.cpp", 399), file_of("src/base/b.cpp", 400),
                          file_of("bench/c.cpp", 401),    file_of("tests/base/d.cpp", 2000),
                          file_of("docs/e.md", 2000),     file_of("kernels/cuda/f.cu", 500)};
  CHECK(text_of(check_lengths(files)) ==
        "src/base/b.cpp:1: 400 lines: cut it along its subjects\n"
        "bench/c.cpp:1: 401 lines: cut it along its subjects\n"
        "kernels/cuda/f.cu:1: 500 lines: cut it along its subjects\n");
}

TEST_CASE("a room is too large that holds more than 12 % of the house") {
  std::vector files{file_of("kernels/a.cpp", 500), file_of("src/base/b.h", 60),
                    file_of("src/base/c.cpp", 60), file_of("src/comm/d.cpp", 120),
                    file_of("reports/e.cpp", 100), file_of("src/data/f.cpp", 100)};
  for (const char* folder : {"tests/base/", "bench/"})
    files.push_back(file_of(std::string(folder) + "g.cpp", 5000));
  for (const char* folder : {"app/cli/", "app/config/"})
    files.push_back(file_of(std::string(folder) + "h.cpp", 30));
  CHECK(check_room_sizes(files).empty());  // 120 of 1000
  files.push_back(file_of("src/comm/i.cpp", 2));
  CHECK(text_of(check_room_sizes(files)) ==
        "comm:1: 12.2 % of the lines of all rooms, more than 12 %\n");
}

}  // namespace ptbench::architecture
