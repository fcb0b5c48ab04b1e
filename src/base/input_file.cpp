#include "src/base/input_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <vector>

#include "src/base/units.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

InputProblem cannot_be_read(std::string_view reason) {
  return {.predicate = fmt::format("cannot be read: {}", reason)};
}

InputProblem too_large(Bytes bytes, Bytes largest) {
  return {.predicate = fmt::format("has {}, more than the {} that are read", format_bytes(bytes),
                                   format_bytes(largest)),
          .is_large = true};
}

}  // namespace

InputFile open_input(const fs::path& path, const InputRule& rule, InputRefusal refuse) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw refuse(cannot_be_read(error.message()));
  if (fs::is_directory(status)) throw refuse(cannot_be_read("it is a directory"));
  const bool is_pipe = fs::is_fifo(status);
  if (!fs::is_regular_file(status) && !(rule.pipes && is_pipe))
    throw refuse(cannot_be_read("it is not a regular file"));
  InputFile file;
  file.bytes = is_pipe ? 0 : fs::file_size(path, error);
  if (error) throw refuse(cannot_be_read(error.message()));
  if (file.bytes > rule.largest) throw refuse(too_large(file.bytes, rule.largest));
  errno = 0;
  file.stream.open(path, std::ios::binary);
  if (!file.stream) throw refuse(cannot_be_read(std::generic_category().message(errno)));
  return file;
}

std::string read_input(const fs::path& path, const InputRule& rule, InputRefusal refuse) {
  constexpr std::size_t kBlock = 1 << 16;
  InputFile file = open_input(path, rule, refuse);
  std::string text;
  text.reserve(file.bytes);
  std::vector<char> block(kBlock);
  while (file.stream.read(block.data(), kBlock) || file.stream.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(file.stream.gcount()));
    if (text.size() > rule.largest) throw refuse(too_large(text.size(), rule.largest));
  }
  if (file.stream.bad()) throw refuse(cannot_be_read("reading failed"));
  return text;
}

}  // namespace ptbench
