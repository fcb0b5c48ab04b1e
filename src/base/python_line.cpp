#include "src/base/python_line.h"

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/text.h"

namespace ptbench {

std::string python_line(std::string_view code, const std::vector<std::filesystem::path>& files) {
  ensure(code.find_first_of("\"$`\\!") == std::string_view::npos, "code that a shell leaves alone");
  std::string line =
      fmt::format("python3 -c \"import os, sys, gzip, numpy as np; f = sys.argv[1]; {}\"", code);
  for (const std::filesystem::path& file : files) line += ' ' + shell_word(file.string());
  return line;
}

}  // namespace ptbench
