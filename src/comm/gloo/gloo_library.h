#pragma once

#include <string>

#include "src/comm/library/group_library.h"

namespace ptbench::over_gloo {

/// Makes groups of ranks that talk over TCP by the network interface of that name, or where it is
/// empty by that address of this host, or where both are by loopback: each pair of ranks has a
/// connection, made as connect_ranks does. `timeout`: of making connections. What it makes does not
/// outlive it. Throws a run error where the interface has no address.
[[nodiscard]] GroupLibraryMaker library_maker(const std::string& interface,
                                              const std::string& address,
                                              Communicator::Timeout timeout);

}  // namespace ptbench::over_gloo
