#include "src/ranks/host_choice.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "src/base/error.h"
#include "src/comm/star/network_interfaces.h"

namespace ptbench {
namespace {

constexpr std::uint64_t kMostPretended = 64;
/// "Reaches" a host of any name: runs the command here, and says that it is on that host.
constexpr const char* kPretendingShell =
    R"(sh -c 'PTBENCH_HOST_ID=$0; export PTBENCH_HOST_ID; exec sh -c "$1"')";

/// The first of them is this host, by an address that the others could reach.
HostChoice pretended_hosts(const OptionInfo& option, Size count) {
  HostChoice hosts{.slots = {{.host = own_network_address(), .ranks = 1}},
                   .shell = kPretendingShell};
  if (hosts.slots.front().host.empty())
    throw usage_error(
        fmt::format("--{}: this machine has no network address except loopback", option.name),
        "connect it to a network, or use --nproc");
  for (Size number = 2; number <= count; ++number)
    hosts.slots.push_back({.host = fmt::format("pretended-{}", number), .ranks = 1});
  return hosts;
}

}  // namespace

OptionRow<HostChoice> hosts_option(OptionInfo info) {
  info.name = "hosts";
  info.value = "A:N,B:N";
  info.help = "start the ranks on several hosts, over ssh; this one first";
  info.example = "node1:2,node2:2";
  info.domain = "names or addresses of hosts, each with its number of ranks: node1:2,node2:2";
  return {std::move(info), [](HostChoice& hosts, const OptionInfo& option, std::string_view text) {
            hosts.slots = parse_host_list(option, text);
          }};
}

OptionRow<HostChoice> host_shell_option(OptionInfo info) {
  info.name = "shell";
  info.value = "COMMAND";
  info.help =
      "command that reaches another host; it gets the host's name and a command to run there";
  info.fallback = kUsualShell;
  info.example = "ssh -p 2222";
  return text_option(std::move(info), &HostChoice::shell);
}

OptionRow<HostChoice> try_hosts_option(OptionInfo info) {
  info.name = "try-hosts";
  info.value = "N";
  info.help = "pretend that this machine is N hosts with one rank each, to try --hosts";
  info.example = "2";
  info.domain = whole_domain(2, kMostPretended);
  return {std::move(info), [](HostChoice& hosts, const OptionInfo& option, std::string_view text) {
            hosts = pretended_hosts(
                option, static_cast<Size>(whole_value(option, text, 2, kMostPretended)));
          }};
}

}  // namespace ptbench
