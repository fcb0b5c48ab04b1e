#include "src/ranks/core_shares.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace ptbench {

std::vector<CoreShare> shares_of(const std::vector<RankCard>& cards) {
  std::set<std::pair<std::string, int>> all;
  std::vector<CoreShare> shares(cards.size());
  Size threads = 0;
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    const RankCard& own = cards[rank];
    for (const int cpu : own.cpus) all.emplace(own.host, cpu);
    const auto alike = [&](const RankCard& other) {
      return other.host == own.host && other.cpus == own.cpus;
    };
    const auto here = cards.begin() + static_cast<std::ptrdiff_t>(rank);
    shares[rank].index = std::count_if(cards.begin(), here, alike);
    const Size sharers = std::ranges::count_if(cards, alike);
    const Size fit = std::max<Size>(1, std::ssize(own.cpus) / sharers);
    threads = rank == 0 ? fit : std::min(threads, fit);
  }
  for (CoreShare& share : shares) {
    share.cores = std::max(1, static_cast<int>(all.size()));
    share.threads = threads;
  }
  return shares;
}

}  // namespace ptbench
