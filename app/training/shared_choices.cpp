#include "app/training/shared_choices.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace ptbench {
namespace {

/// A line a choice: key, tab, candidate. Neither holds tabs or line ends.
std::string text_of(const Choices& choices) {
  std::string text;
  for (const auto& [key, candidate] : choices)
    text.append(key).append(1, '\t').append(candidate).append(1, '\n');
  return text;
}

Choices choices_of(std::string_view text) {
  Choices choices;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const std::size_t tab = line.find('\t');
    choices[std::string(line.substr(0, tab))] = std::string(line.substr(tab + 1));
    text.remove_prefix(end + 1);
  }
  return choices;
}

}  // namespace

Choices share_choices(ControlChannel& control, const Choices& choices) {
  constexpr auto kPatience = Communicator::kLongWork;
  if (control.world_size() == 1) return choices;
  std::string text = text_of(choices);
  std::uint64_t size = text.size();
  control.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0, kPatience);
  text.resize(size);
  control.broadcast(std::as_writable_bytes(std::span(text)), 0, kPatience);
  return choices_of(text);
}

}  // namespace ptbench
