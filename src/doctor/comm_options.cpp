#include "src/doctor/comm_options.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <string_view>
#include <utility>

#include "src/base/number.h"
#include "src/comm/catalog.h"

namespace ptbench {
namespace {

constexpr std::uint64_t kMostCommRanks = 1024;
constexpr Bytes kMostBytes = Bytes{64} << 30U;

using Row = OptionRow<CommOptions>;

/// At least one part; "a,,b" has an empty one.
std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t comma = list.find(',');
    parts.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

/// "4", "64K", "1m": whole floats, powers of two as units.
std::optional<Bytes> parse_size(std::string_view text) {
  constexpr std::string_view kUnits = "KMG";
  unsigned shift = 0;
  if (!text.empty()) {
    const auto letter = static_cast<char>(std::toupper(static_cast<unsigned char>(text.back())));
    if (const std::size_t unit = kUnits.find(letter); unit != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(unit) + 1);
      text.remove_suffix(1);
    }
  }
  const auto number = parse_whole(text);
  if (!number || *number == 0 || *number > (kMostBytes >> shift)) return std::nullopt;
  const Bytes bytes = *number << shift;
  return bytes % sizeof(float) == 0 ? std::optional(bytes) : std::nullopt;
}

void set_sizes(CommOptions& options, const OptionInfo& option, std::string_view text) {
  std::vector<Bytes> sizes;
  for (const std::string_view part : parts_of(text)) {
    const auto bytes = parse_size(part);
    if (!bytes) refuse_value(option, part);
    sizes.push_back(*bytes);
  }
  options.sizes = std::move(sizes);
}

void set_collectives(CommOptions& options, const OptionInfo& option, std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view part : parts_of(text)) names.push_back(choice_value(option, part));
  options.collectives = std::move(names);
}

/// Takes those too that this build lacks, which is another error.
void set_communicator(CommOptions& options, const OptionInfo& option, std::string_view text) {
  const std::vector<std::string> names = communicator_names(false);
  if (std::ranges::find(names, text) == names.end()) refuse_value(option, text);
  options.communicator = text;
}

std::vector<Bytes> default_sizes() {
  std::vector<Bytes> sizes;
  for (Bytes bytes = sizeof(float); bytes <= Bytes{64} << 20U; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

std::vector<Row> shown_rows() {
  const std::string group = "Measuring";
  return {whole_option({.name = "nproc",
                        .short_name = 'n',
                        .value = "N",
                        .group = group,
                        .help = "ranks, each a process on a core of its own while there are enough",
                        .fallback = "cores, at least 2"},
                       &CommOptions::nproc, 1, kMostCommRanks),
          Row{{.name = "collective",
               .value = "NAME,...",
               .group = group,
               .help = "what to measure, separated by commas",
               .fallback = "all_reduce",
               .choices = comm_collectives()},
              set_collectives},
          Row{{.name = "sizes",
               .value = "SIZE,...",
               .group = group,
               .help = "bytes of the whole array; K, M and G are KiB, MiB and GiB",
               .fallback = "4 to 64M, in steps of 4",
               .example = "4K,1M",
               .domain = "multiples of 4 bytes up to 64G, separated by commas"},
              set_sizes},
          Row{{.name = "communicator",
               .value = "NAME",
               .group = group,
               .help = "who moves values between ranks",
               .fallback = std::string(kAutomaticCommunicator),
               .domain = names_domain(communicator_names(false)),
               .choices = communicator_choices(false)},
              set_communicator},
          real_option({.name = "timeout",
                       .value = "S",
                       .group = group,
                       .help = "longest wait for another rank, in seconds",
                       .fallback = "60"},
                      &CommOptions::timeout_seconds, 0.001, 1e6),
          flag_option({.name = "json", .group = "Format", .help = "as JSON, with raw numbers"},
                      &CommOptions::json)};
}

void append_hidden(std::vector<Row>& rows) {
  constexpr std::uint64_t kMostDescriptor = 1U << 30U;
  const std::string group = "Hidden";
  rows.push_back(whole_option({.name = "region",
                               .value = "FD",
                               .group = group,
                               .help = "be a rank of the group that shares this descriptor",
                               .hidden = true},
                              &CommOptions::region, 0, kMostDescriptor));
  rows.push_back(whole_option(
      {.name = "as-rank", .value = "R", .group = group, .help = "which one", .hidden = true},
      &CommOptions::rank, 0, kMostCommRanks));
  rows.push_back(whole_option(
      {.name = "cpu", .value = "N", .group = group, .help = "and where", .hidden = true},
      &CommOptions::cpu, 0, kMostDescriptor));
}

}  // namespace

OptionTable<CommOptions> comm_option_table() {
  std::vector<Row> rows = shown_rows();
  append_hidden(rows);
  return OptionTable<CommOptions>(std::move(rows));
}

CommPlan plan_of(const CommOptions& options) {
  return {.collectives = options.collectives,
          .sizes = options.sizes.empty() ? default_sizes() : options.sizes,
          .timeout = std::chrono::ceil<Communicator::Timeout>(
              std::chrono::duration<double>(options.timeout_seconds))};
}

}  // namespace ptbench
