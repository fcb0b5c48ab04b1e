// What ranks send each other when they meet, from anybody who can reach the socket.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/process/local_socket.h"
#include "src/ranks/rank_card.h"

namespace {

bool is_plain(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

void require(bool holds) {
  if (!holds) std::abort();
}

void read_answer(std::string_view message) {
  const auto answer = ptbench::decode_answer(message);
  if (!answer) return;
  if (answer->refusal)
    require(is_plain(answer->refusal->what()) && is_plain(answer->refusal->remedy()));
  if (answer->refusal || answer->busy) return;
  const ptbench::CoreShare& cores = answer->welcome.cores;
  require(cores.cores >= 1 && cores.threads >= 1 && cores.index >= 0);
  const auto again = ptbench::decode_answer(ptbench::encode(answer->welcome));
  require(again && again->welcome.cores == cores && again->welcome.hosts == answer->welcome.hosts);
}

void read_card(std::string_view message) {
  const auto introduction = ptbench::decode_card(message);
  if (!introduction) return;
  require(is_plain(introduction->card.version));
  require(introduction->card.rank >= 0);
  const auto other = ptbench::difference(ptbench::RankCard{}, *introduction);
  if (other) require(is_plain(other->what()));
  if (!introduction->speaks_alike) return;
  // As it was read it can be sent on: in this protocol, with the same rank and options.
  const auto again = ptbench::decode_card(ptbench::encode(introduction->card));
  require(again && again->card.rank == introduction->card.rank);
  require(again->card.job == introduction->card.job && again->card.cpus == introduction->card.cpus);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view message(reinterpret_cast<const char*>(data), size);
  read_answer(message);
  read_card(message);
  return 0;
}
