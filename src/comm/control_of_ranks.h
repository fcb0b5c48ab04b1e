#pragma once

#include <memory>
#include <string>

#include "src/comm/communicator_catalog.h"

namespace ptbench {

/// What a rank of several talks about the run with, for a ControlChannel: by the memory of its
/// host, or where the ranks are on several, by the connections between them.
[[nodiscard]] std::unique_ptr<Communicator> make_control_of(const CommunicatorSetup& setup);

/// Of this host, by which ranks on others reach it, as numbers; empty where all ranks are here.
[[nodiscard]] std::string address_of(const CommunicatorSetup& setup);

}  // namespace ptbench
