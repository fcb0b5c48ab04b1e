#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "src/comm/star/star_communicator.h"

namespace ptbench::testing {

/// Where ranks that are threads connect, as ranks of several hosts do.
class StarHub {
 public:
  /// One rank's communicator; all ranks call it.
  [[nodiscard]] std::unique_ptr<StarCommunicator> join(const SharedRegion& region, Size rank) {
    std::vector<Size> everyone(static_cast<std::size_t>(region.world_size()));
    std::iota(everyone.begin(), everyone.end(), Size{0});
    const StarPatience patience{.end = std::chrono::steady_clock::now() + std::chrono::minutes(1)};
    StarLinks star = rank == 0 ? accept_star(listener_, region.world_size(), secret_, patience)
                               : join_star(own_address(listener_), rank, secret_, patience);
    return std::make_unique<StarCommunicator>(region, std::move(star), std::move(everyone),
                                              "127.0.0.1");
  }

  [[nodiscard]] NetworkAddress address() const { return own_address(listener_); }

 private:
  std::string why_;
  Descriptor listener_ = listen_at(NetworkAddress{.host = "127.0.0.1"}, why_);
  std::uint64_t secret_ = new_secret();
};

}  // namespace ptbench::testing
