#include "src/ranks/host_choice.h"

#include <string_view>
#include <utility>

namespace ptbench {

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
  info.help = "what reaches the other hosts: it gets a host's name, and a command for it";
  info.fallback = kUsualShell;
  info.example = "ssh -p 2222";
  return text_option(std::move(info), &HostChoice::shell);
}

}  // namespace ptbench
