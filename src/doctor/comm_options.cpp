#include "src/doctor/comm_options.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <string_view>
#include <utility>

#include "src/base/error.h"
#include "src/base/number.h"
#include "src/comm/catalog.h"
#include "src/config/device_choice.h"

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

void set_communicators(CommOptions& options, const OptionInfo& option, std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view part : parts_of(text)) names.push_back(choice_value(option, part));
  options.communicators = std::move(names);
}

/// From the least to the most, as nccl-tests count them.
std::vector<Bytes> sizes_between(const CommOptions& options) {
  constexpr Size kFactor = 4;
  const Bytes least = options.least.value_or(sizeof(float));
  const Bytes most = options.most.value_or(std::max(least, Bytes{64} << 20U));
  const auto factor = static_cast<Bytes>(options.factor.value_or(kFactor));
  if (least > most)
    throw usage_error("--minbytes is more than --maxbytes", "give a smaller --minbytes");
  std::vector<Bytes> sizes;
  for (Bytes bytes = least; bytes <= most; bytes *= factor) sizes.push_back(bytes);
  return sizes;
}

/// One size, to `field`.
Row size_row(OptionInfo info, std::optional<Bytes> CommOptions::* field) {
  info.value = "SIZE";
  info.excludes = {"sizes"};
  info.domain = "a multiple of 4 bytes up to 64G";
  return Row{std::move(info),
             [=](CommOptions& options, const OptionInfo& option, std::string_view text) {
               const auto bytes = parse_size(text);
               if (!bytes) refuse_value(option, text);
               options.*field = bytes;
             }};
}

/// "cpu", "cuda", "auto", or "cuda:" and numbers separated by '+'.
void set_comm_device(CommOptions& options, const OptionInfo& option, std::string_view text) {
  if (!is_device(text)) refuse_value(option, text);
  options.device = text;
}

// NOLINTNEXTLINE(readability-function-size): one row after the other
std::vector<Row> shown_rows() {
  return {
      whole_option({.name = "nproc",
                    .short_name = 'n',
                    .value = "N",
                    .group = "Measuring",
                    .help = "ranks, each a process on a core of its own while there are enough",
                    .fallback = "cores, at least 2"},
                   &CommOptions::nproc, 1, kMostCommRanks),
      Row{{.name = "collective",
           .value = "NAME,...",
           .help = "what to measure, separated by commas",
           .fallback = "all_reduce",
           .choices = comm_collectives()},
          set_collectives},
      Row{{.name = "sizes",
           .value = "SIZE,...",
           .help = "bytes of the whole array; K, M and G are KiB, MiB and GiB",
           .fallback = "4 to 64M, in steps of 4",
           .example = "4K,1M",
           .domain = "multiples of 4 bytes up to 64G, separated by commas"},
          set_sizes},
      size_row(
          {.name = "minbytes", .short_name = 'b', .help = "the smallest size", .fallback = "4"},
          &CommOptions::least),
      size_row(
          {.name = "maxbytes", .short_name = 'e', .help = "the largest size", .fallback = "64M"},
          &CommOptions::most),
      whole_option({.name = "stepfactor",
                    .short_name = 'f',
                    .value = "N",
                    .help = "factor from each size to the next",
                    .fallback = "4",
                    .excludes = {"sizes"}},
                   &CommOptions::factor, 2, 1U << 20U),
      whole_option({.name = "iters",
                    .value = "N",
                    .help = "calls that are timed at each size",
                    .fallback = "as many as take 0.1 s; on GPUs 20"},
                   &CommOptions::calls, 1, 1'000'000),
      whole_option({.name = "warmup-iters",
                    .short_name = 'w',
                    .value = "N",
                    .help = "warm-up calls before these",
                    .fallback = "5"},
                   &CommOptions::warm_up, 1, 1'000'000),
      Row{{.name = "device",
           .value = "DEVICE",
           .help = "where the values are: cpu, cuda (all GPUs) or cuda:0+1 (these)",
           .fallback = "cpu; with --communicator nccl, cuda",
           .domain = "cpu, cuda, cuda:I+J+... or auto",
           .choices = {"auto", "cpu", "cuda"}},
          set_comm_device},
      Row{{.name = "communicator",
           .value = "NAME,...",
           .help = "what moves values between ranks; several are measured one after the other",
           .fallback = std::string(kAutomaticCommunicator),
           .choices = communicator_choices(false)},
          set_communicators},
      text_option({.name = "interface",
                   .value = "NAME",
                   .help = "network interface for gloo and NCCL; by default loopback (NCCL: "
                           "its own choice), or the one that reaches the other hosts",
                   .example = "eth0"},
                  &CommOptions::interface),
      real_option({.name = "timeout",
                   .value = "S",
                   .help = "longest wait for another rank, in seconds",
                   .fallback = "60"},
                  &CommOptions::timeout_seconds, 0.001, 1e6),
      text_list_option({.name = "output",
                        .short_name = 'o',
                        .value = "FILE",
                        .group = "Output",
                        .help = "also write the table to FILE: .json as --json prints it, .md "
                                "Markdown, .txt text; may be given several times",
                        .example = "comm.json",
                        .hint = ValueHint::file},
                       &CommOptions::outputs),
      flag_option({.name = "json", .help = "as JSON, with raw numbers"}, &CommOptions::json)};
}

void append_hidden(std::vector<Row>& rows) {
  constexpr std::uint64_t kMostDescriptor = 1U << 30U;
  rows.push_back(whole_option({.name = "region",
                               .value = "FD",
                               .group = "Hidden",
                               .help = "be a rank of the group that shares this descriptor",
                               .hidden = true},
                              &CommOptions::region, 0, kMostDescriptor));
  rows.push_back(
      whole_option({.name = "as-rank", .value = "R", .help = "which one", .hidden = true},
                   &CommOptions::rank, 0, kMostCommRanks));
  rows.push_back(whole_option({.name = "cpu", .value = "N", .help = "and where", .hidden = true},
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
          .sizes = options.sizes.empty() ? sizes_between(options) : options.sizes,
          .timeout = std::chrono::ceil<Communicator::Timeout>(
              std::chrono::duration<double>(options.timeout_seconds)),
          .calls = options.calls,
          .warm_up_calls = options.warm_up.value_or(CommPlan().warm_up_calls)};
}

}  // namespace ptbench
