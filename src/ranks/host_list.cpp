#include "src/ranks/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/number.h"
#include "src/ranks/rank_card.h"

namespace ptbench {
namespace {

/// What may stand in a host's name or address; no '-' at its start, which ssh would take for an
/// option.
bool is_host(std::string_view name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%";
  return !name.empty() && name.front() != '-' &&
         name.find_first_not_of(kLetters) == std::string_view::npos;
}

/// Where the name ends and ":RANKS" begins: at the end where there is none.
std::size_t end_of_name(std::string_view part) {
  if (part.starts_with('[')) return std::min(part.find(']'), part.size() - 1) + 1;
  return std::min(part.find(':'), part.size());
}

std::optional<HostSlots> slots_in(std::string_view part) {
  if (part.empty()) return std::nullopt;
  const std::size_t end = end_of_name(part);
  std::string_view name = part.substr(0, end);
  const bool in_brackets = name.starts_with('[') && name.ends_with(']');
  if (in_brackets) name = name.substr(1, name.size() - 2);
  if (!is_host(name)) return std::nullopt;
  HostSlots slots{.host = std::string(name), .ranks = 1};
  if (end == part.size()) return slots;
  const auto ranks = parse_whole(part.substr(end + 1));
  if (part[end] != ':' || !ranks || *ranks < 1 || *ranks > kMostRanks) return std::nullopt;
  slots.ranks = static_cast<Size>(*ranks);
  return slots;
}

}  // namespace

std::vector<HostSlots> parse_host_list(const OptionInfo& option, std::string_view text) {
  std::vector<HostSlots> hosts;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const auto slots = slots_in(rest.substr(0, comma));
    if (!slots) refuse_value(option, text);
    if (std::ranges::find(hosts, slots->host, &HostSlots::host) != hosts.end())
      throw usage_error(fmt::format("--{} '{}' names {} twice", option.name, printable(text),
                                    printable(slots->host)),
                        "name each host once, with all of its ranks: a:2,b:2");
    hosts.push_back(*slots);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (const Size ranks = ranks_of(hosts); ranks > static_cast<Size>(kMostRanks))
    throw usage_error(fmt::format("--{} has {} ranks", option.name, ranks),
                      fmt::format("give {} at most", kMostRanks));
  return hosts;
}

std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::string text_of(const std::vector<HostSlots>& hosts) {
  std::string text;
  for (const HostSlots& slots : hosts)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", bracketed(slots.host), slots.ranks);
  return text;
}

Size ranks_of(const std::vector<HostSlots>& hosts) {
  return std::accumulate(hosts.begin(), hosts.end(), Size{0},
                         [](Size sum, const HostSlots& slots) { return sum + slots.ranks; });
}

std::vector<HostSlots> first_ranks(std::vector<HostSlots> hosts, Size ranks) {
  std::vector<HostSlots> first;
  for (HostSlots& slots : hosts) {
    if (ranks == 0) break;
    slots.ranks = std::min(slots.ranks, ranks);
    ranks -= slots.ranks;
    first.push_back(std::move(slots));
  }
  return first;
}

}  // namespace ptbench
