#pragma once

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>

#include <memory>
#include <vector>

#include "src/comm/star/rank_sockets.h"

namespace ptbench::over_gloo {

/// gloo's transport over connections that were made elsewhere: gloo itself takes whoever connects
/// to it for the other rank.
class ConnectedTransport final : public gloo::transport::tcp::Context {
 public:
  using gloo::transport::tcp::Context::Context;

  /// `connections`: by rank, the own one closed. Once it has its timeout, and before all else.
  void adopt(std::vector<RankSocket> connections);
};

}  // namespace ptbench::over_gloo
