#include "src/ranks/rank_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "src/base/hash.h"
#include "src/base/log.h"
#include "src/base/number.h"
#include "src/process/local_socket.h"

namespace ptbench {
namespace {

// A message is texts that end with a null character, which no argument of a program contains.
constexpr std::string_view kMagic = "ptbench rank";
constexpr std::string_view kProtocol = "3";  // of what follows the version
constexpr std::string_view kWelcome = "welcome";
constexpr std::string_view kRefused = "refused";
constexpr std::string_view kBusy = "busy";
constexpr std::size_t kMostText = 2000;    // of an error, in bytes
constexpr std::size_t kShownValue = 100;   // of an option, in an error
constexpr std::size_t kIntroduction = 4;   // texts that every version begins with
constexpr std::size_t kOptionsBegin = 10;  // texts before the first option

using Texts = std::vector<std::string_view>;

std::string message_of(std::span<const std::string> texts) {
  std::string message;
  for (const std::string& text : texts) {
    message += text;
    message += '\0';
  }
  return message;
}

/// Empty for a message that is not made of whole texts, or begins with others.
Texts texts_of(std::string_view message) {
  if (message.size() > kMostMessage || !message.ends_with('\0')) return {};
  Texts texts;
  while (!message.empty()) {
    const std::size_t end = message.find('\0');
    texts.push_back(message.substr(0, end));
    message.remove_prefix(end + 1);
  }
  if (texts.front() != kMagic) return {};
  return texts;
}

std::vector<NamedAssignment> by_name(std::vector<NamedAssignment> options) {
  std::ranges::sort(options, {}, [](const NamedAssignment& option) {
    return std::tie(option.name, option.text);
  });
  return options;
}

std::string digest_of(const std::vector<NamedAssignment>& options) {
  std::vector<std::string> texts;
  for (const NamedAssignment& option : by_name(options)) {
    texts.push_back(option.name);
    texts.push_back(option.text);
  }
  return fmt::format("{:016x}", fnv1a(message_of(texts)));
}

/// "0,2"; empty for anything else.
std::optional<std::vector<int>> numbers_in(std::string_view list) {
  std::vector<int> numbers;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const auto number = parse_whole(list.substr(0, comma));
    if (!number || *number > std::numeric_limits<int>::max()) return std::nullopt;
    numbers.push_back(static_cast<int>(*number));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return numbers;
}

std::optional<Size> count_in(std::string_view text, std::uint64_t most) {
  const auto number = parse_whole(text);
  if (!number || *number > most) return std::nullopt;
  return static_cast<Size>(*number);
}

std::string shortened(std::string_view text, std::size_t most) {
  return text.size() <= most ? std::string(text) : std::string(text.substr(0, most)) + "...";
}

std::string shown(const std::map<std::string, std::string>& values, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) return "not given";
  return found->second.empty() ? "given" : printable(shortened(found->second, kShownValue));
}

std::map<std::string, std::string> values_of(const std::vector<NamedAssignment>& options) {
  std::map<std::string, std::string> values;
  for (const NamedAssignment& option : options) {
    std::string& value = values[option.name];
    value += (value.empty() ? "" : " ") + option.text;
  }
  return values;
}

/// "--batch-size 64 / 32"; empty where none differs.
std::string first_difference(const std::vector<NamedAssignment>& own,
                             const std::vector<NamedAssignment>& other) {
  const auto own_values = values_of(own);
  const auto other_values = values_of(other);
  std::set<std::string> names;
  for (const auto* values : {&own_values, &other_values})
    for (const auto& [name, value] : *values) names.insert(name);
  const auto of = [](const auto& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
  for (const std::string& name : names)
    if (of(own_values, name) != of(other_values, name))
      return fmt::format("--{} {} / {}", printable(name), shown(own_values, name),
                         shown(other_values, name));
  return {};
}

std::optional<Error> refusal_in(const Texts& texts) {
  if (texts.size() != 5) return std::nullopt;
  const auto code = parse_whole(texts[2]);
  if (!code) return std::nullopt;
  const bool known = *code == static_cast<std::uint64_t>(ExitCode::usage) ||
                     *code == static_cast<std::uint64_t>(ExitCode::capability);
  return Error(known ? static_cast<ExitCode>(*code) : ExitCode::failed,
               printable(shortened(texts[3], kMostText)),
               printable(shortened(texts[4], kMostText)));
}

std::optional<RankAnswer> admission_in(const Texts& texts) {
  constexpr std::size_t kHostsBegin = 9;  // texts before the first host
  if (texts.size() < kHostsBegin) return std::nullopt;
  constexpr std::uint64_t kMostCores = 1'000'000;
  const auto cores = count_in(texts[2], kMostCores);
  const auto threads = count_in(texts[3], kMostCores);
  const auto index = count_in(texts[4], kMostRanks);
  const auto local_ranks = numbers_in(texts[5]);
  const auto port = count_in(texts[6], std::numeric_limits<std::uint16_t>::max());
  const auto secret = parse_whole(texts[7]);
  const auto host_of_ranks = numbers_in(texts[8]);
  if (!cores || !threads || !index || *cores < 1 || *threads < 1 || !local_ranks || !port ||
      !secret || !host_of_ranks || host_of_ranks->size() > kMostRanks)
    return std::nullopt;
  RankAnswer answer;
  Welcome& welcome = answer.welcome;
  welcome.cores = {.cores = static_cast<int>(*cores), .threads = *threads, .index = *index};
  welcome.local_ranks.assign(local_ranks->begin(), local_ranks->end());
  for (const int host : *host_of_ranks) {
    const std::size_t at = kHostsBegin + static_cast<std::size_t>(host);
    if (at >= texts.size()) return std::nullopt;
    welcome.hosts.push_back(shortened(texts[at], kMostText));
  }
  welcome.door = {.port = static_cast<std::uint16_t>(*port), .secret = *secret};
  return answer;
}

}  // namespace

std::string encode(const RankCard& card) {
  std::vector<std::string> texts{std::string(kMagic),
                                 std::string(kProtocol),
                                 card.version,
                                 fmt::format("{}", card.rank),
                                 card.job,
                                 card.host,
                                 fmt::format("{}", card.world_size),
                                 fmt::format("{}", card.local_rank),
                                 fmt::format("{}", fmt::join(card.cpus, ",")),
                                 digest_of(card.options)};
  std::string introduction = message_of(texts);
  for (const NamedAssignment& option : card.options) {
    texts.push_back(option.name);
    texts.push_back(option.text);
  }
  std::string message = message_of(texts);
  if (message.size() > kMostMessage) return introduction;
  return message;
}

std::string encode(const Welcome& welcome) { return encode(welcome, {welcome.cores}).front(); }

std::vector<std::string> encode(const Welcome& welcome, const std::vector<CoreShare>& cores) {
  std::vector<std::string> hosts;  // each once
  std::map<std::string_view, std::size_t> places;
  std::vector<std::size_t> host_of_ranks;
  for (const std::string& host : welcome.hosts) {
    const auto [known, is_new] = places.emplace(host, hosts.size());
    host_of_ranks.push_back(known->second);
    if (is_new) hosts.push_back(host);
  }
  std::vector<std::string> rest{
      fmt::format("{}", fmt::join(welcome.local_ranks, ",")), fmt::format("{}", welcome.door.port),
      fmt::format("{}", welcome.door.secret), fmt::format("{}", fmt::join(host_of_ranks, ","))};
  rest.insert(rest.end(), hosts.begin(), hosts.end());
  const std::string for_all = message_of(rest);
  std::vector<std::string> messages;
  for (const CoreShare& share : cores)
    messages.push_back(
        message_of(std::vector<std::string>{
            std::string(kMagic), std::string(kWelcome), fmt::format("{}", share.cores),
            fmt::format("{}", share.threads), fmt::format("{}", share.index)}) +
        for_all);
  return messages;
}

std::string encode_refusal(const Error& error) {
  return message_of(std::vector<std::string>{std::string(kMagic), std::string(kRefused),
                                             fmt::format("{}", static_cast<int>(error.code())),
                                             printable(shortened(error.what(), kMostText)),
                                             printable(shortened(error.remedy(), kMostText))});
}

std::string encode_busy() {
  return message_of(std::vector<std::string>{std::string(kMagic), std::string(kBusy)});
}

std::optional<RankAnswer> decode_answer(std::string_view message) {
  const Texts texts = texts_of(message);
  if (texts.size() < 2) return std::nullopt;
  RankAnswer answer;
  if (texts[1] == kBusy) {
    answer.busy = true;
    return answer;
  }
  if (texts[1] == kRefused) {
    answer.refusal = refusal_in(texts);
    return answer.refusal ? std::optional(answer) : std::nullopt;
  }
  return texts[1] == kWelcome ? admission_in(texts) : std::nullopt;
}

std::optional<Introduction> decode_card(std::string_view message) {
  const Texts texts = texts_of(message);
  if (texts.size() < kIntroduction) return std::nullopt;
  const auto rank = count_in(texts[3], kMostRanks - 1);
  if (!rank) return std::nullopt;
  Introduction result;
  result.card.version = printable(shortened(texts[2], kShownValue));
  result.card.rank = *rank;
  if (texts.size() > kIntroduction) result.card.job = texts[kIntroduction];
  result.speaks_alike = texts[1] == kProtocol;
  if (!result.speaks_alike) return result;
  const bool paired = texts.size() >= kOptionsBegin && (texts.size() - kOptionsBegin) % 2 == 0;
  if (!paired) return std::nullopt;
  const auto world_size = count_in(texts[6], kMostRanks);
  const auto local_rank = count_in(texts[7], kMostRanks - 1);
  auto cpus = numbers_in(texts[8]);
  if (!world_size || !local_rank || !cpus) return std::nullopt;
  result.card.host = texts[5];
  result.card.world_size = *world_size;
  result.card.local_rank = *local_rank;
  result.card.cpus = std::move(*cpus);
  result.digest = texts[9];
  for (std::size_t at = kOptionsBegin; at < texts.size(); at += 2)
    result.card.options.push_back(
        {.name = std::string(texts[at]), .text = std::string(texts[at + 1])});
  return result;
}

std::optional<Error> difference(const RankCard& own, const Introduction& other) {
  if (digest_of(own.options) == other.digest) return std::nullopt;
  const bool left_out = other.card.options.empty() && other.digest != digest_of({});
  const std::string first =
      left_out ? std::string() : first_difference(own.options, other.card.options);
  return usage_error(fmt::format("ranks {} and {} were started with different options{}{}",
                                 own.rank, other.card.rank, first.empty() ? "" : ": ", first),
                     "start all ranks with the same command line");
}

}  // namespace ptbench
