#pragma once

#include <string>
#include <vector>

#include "src/base/option_table.h"
#include "src/ranks/host_list.h"

namespace ptbench {

/// How a shell of this host reaches another one: no question is asked, and no host waited for long.
inline constexpr const char* kUsualShell = "ssh -o BatchMode=yes -o ConnectTimeout=20";

/// Hosts that are to have ranks, and what reaches them.
struct HostChoice {
  std::vector<HostSlots> slots;     ///< the first of them is this host; empty: it has all ranks
  std::string shell = kUsualShell;  ///< takes a host's name and a command for it

  friend bool operator==(const HostChoice&, const HostChoice&) = default;
};

/// The options --hosts and --shell, whose names, values and help are the same for all commands.
/// `info`: what a command says besides.
[[nodiscard]] OptionRow<HostChoice> hosts_option(OptionInfo info);
[[nodiscard]] OptionRow<HostChoice> host_shell_option(OptionInfo info);
/// --try-hosts: so many hosts of one rank each, all of which are this machine under another name.
[[nodiscard]] OptionRow<HostChoice> try_hosts_option(OptionInfo info);

}  // namespace ptbench
