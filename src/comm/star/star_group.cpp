#include "src/comm/star/star_group.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/base/error.h"

namespace ptbench {

StarPlace star_place_at(const NetworkAddress& address) {
  StarPlace place{.port = address.port};
  ensure(address.host.size() < place.host.size(), "addresses as numbers are short");
  std::ranges::copy(address.host, place.host.begin());
  return place;
}

StarGroup star_group_of(Size own, const std::vector<StarPlace>& places) {
  const auto place = [&](Size rank) -> const StarPlace& {
    return places[static_cast<std::size_t>(rank)];
  };
  StarGroup group;
  for (Size rank = 0; rank < std::ssize(places); ++rank)
    if (place(rank).colour == place(own).colour) group.ranks.push_back(rank);
  std::ranges::sort(group.ranks, {}, [&](Size rank) { return std::pair(place(rank).key, rank); });
  const StarPlace& first = place(group.ranks.front());
  group.hub = {.host = std::string(first.host.begin(), std::ranges::find(first.host, '\0')),
               .port = first.port};
  group.secret = first.secret;
  return group;
}

}  // namespace ptbench
