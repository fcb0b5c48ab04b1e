#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "app/programs/program_messages.h"
#include "app/programs/program_ranks.h"
#include "src/base/error.h"

// Messages of a program, one a line: whatever they are, they are taken or refused by a run error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  ptbench::ProgramRanks ranks(std::nullopt);
  ranks.keep_phases();
  std::optional<ptbench::Size> rank;
  try {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      ptbench::ProgramMessage message =
          ptbench::parse_program_message(std::string_view(text).substr(begin, end - begin));
      if (const auto* hello = std::get_if<ptbench::ProgramHello>(&message))
        rank = ranks.join(*hello);
      else if (auto* report = std::get_if<ptbench::ProgramReport>(&message); report && rank)
        ranks.report(*rank, std::move(*report), 1000);
      while (ranks.take()) {
      }
      begin = end + 1;
    }
  } catch (const ptbench::Error& error) {
    if (error.code() != ptbench::ExitCode::failed) throw;
  }
  return 0;
}
