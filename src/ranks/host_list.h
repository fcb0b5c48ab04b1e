#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/option_table.h"
#include "src/base/size.h"

namespace ptbench {

/// A host, and how many ranks it is to have.
struct HostSlots {
  std::string host;  ///< a name, or an address; one of IPv6 without its brackets
  Size ranks = 1;

  friend bool operator==(const HostSlots&, const HostSlots&) = default;
};

/// "a:2,b,[fd00::1]:2": hosts in the order of their ranks, one rank where no number stands. Throws
/// a usage error that names `option` for anything else, and for a host that is named twice.
[[nodiscard]] std::vector<HostSlots> parse_host_list(const OptionInfo& option,
                                                     std::string_view text);

/// The same list as text.
[[nodiscard]] std::string text_of(const std::vector<HostSlots>& hosts);
/// As a host stands before ":PORT" or ":RANKS": an address of IPv6 in brackets.
[[nodiscard]] std::string bracketed(const std::string& host);

[[nodiscard]] Size ranks_of(const std::vector<HostSlots>& hosts);

/// Those of the first `ranks` (1 to ranks_of) only.
[[nodiscard]] std::vector<HostSlots> first_ranks(std::vector<HostSlots> hosts, Size ranks);

}  // namespace ptbench
