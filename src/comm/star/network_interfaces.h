#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ptbench {

/// Names of this host's network interfaces that are up and have an IP address, each once, in the
/// system's order.
[[nodiscard]] std::vector<std::string> network_interfaces();

/// The name of this host's network interface that has that address, as numbers; empty: none has.
[[nodiscard]] std::string interface_with(std::string_view address);

/// An address, as numbers, by which other hosts may reach this one: of IPv4 where there is one, and
/// not of loopback or of one link alone; empty: there is none.
[[nodiscard]] std::string own_network_address();

/// Throws a usage error where `interface` is none of them.
void require_interface(std::string_view interface);

}  // namespace ptbench
