#include "reports/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "reports/field_text.h"
#include "reports/troubles.h"
#include "reports/wrap.h"
#include "src/base/text.h"
#include "src/measure/field_table.h"
#include "src/measure/reliability.h"

namespace ptbench {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kLabelWidth = 12;

enum class Paint { plain, bold, red, yellow };

/// Parts of a line, each with placeholders: `{field}`, or `{field:noun}` for a count of things. A
/// part with a field that is not known is left out, and so is a line without a part left.
struct Line {
  std::string_view label;
  std::array<std::string_view, 10> parts;
  bool (*shown)(const RunRecord&) = nullptr;  ///< null: always
  Paint paint = Paint::plain;
};

bool has_result(const RunRecord& run) { return ended_well(run.status); }

bool saves_products(const RunRecord& run) {
  const ComputeRecord& compute = run.compute;
  return has_result(run) && compute.executed_flops_per_step &&
         compute.executed_flops_per_step != compute.flops_per_step;
}

/// The rate counts the model's operations: beside `utilization` it stands where all are executed.
bool executes_all_products(const RunRecord& run) { return has_result(run) && !saves_products(run); }

bool hides_communication(const RunRecord& run) {
  const PhasesRecord& phases = run.phases_seconds;
  return has_result(run) && phases.communication > phases.communication_exposed;
}

bool has_link(const RunRecord& run) { return has_result(run) && run.link.has_value(); }

bool has_several_ranks(const RunRecord& run) { return has_result(run) && run.ranks.size() > 1; }

/// Serial fp32 training is what others are compared with: that it was not needs no saying.
bool has_verification(const RunRecord& run) {
  const StrategyRecord& strategy = run.strategy;
  const bool differs = strategy.world_size > 1 || strategy.accumulation_steps.value_or(1) > 1 ||
                       strategy.precision != "fp32";
  return run.verification.status != VerificationStatus::not_run ||
         (differs && run.verification.reason.has_value());
}

constexpr std::array<Line, 19> kLines{{
    {"workload",
     {"{workload.name}", "{workload.parameters} parameters", "input {workload.input_shape}",
      "{workload.flops_per_sample} a sample"}},
    {"strategy",
     {"{strategy.name}", "device {strategy.devices}", "world size {strategy.world_size}",
      "{strategy.threads:thread}", "{strategy.precision}", "global batch {strategy.global_batch}"}},
    {"training",
     {"data {data.source}", "{data.samples:sample} an epoch",
      "{data.left_out} of them left out (no full batch)", "{optimizer.name}", "lr {optimizer.lr}",
      "momentum {optimizer.momentum}"}},
    {"throughput",
     {"{throughput.value}", "95 % interval {throughput.ci95_low} to {throughput.ci95_high}",
      "{throughput.tokens_per_second}"},
     has_result,
     Paint::bold},
    {"evidence", {"{evidence}"}, has_result},
    {"step time",
     {"{step_seconds.median} median",
      "80 % of samples within {step_seconds.p10} to {step_seconds.p90}", "p99 {step_seconds.p99}",
      "{step_seconds.run_to_run_sd} run to run"},
     has_result},
    {"samples",
     {"{samples.repetitions:repetition}",
      "{samples.count:sample} of {samples.steps_per_sample:step}",
      "{samples.warmup_discarded:warm-up step}", "stopped by {samples.stop_reason}"},
     has_result},
    {"phases",
     {"data {phases_seconds.data}", "scatter {phases_seconds.scatter}",
      "replicate {phases_seconds.replicate}", "forward {phases_seconds.forward}",
      "gather {phases_seconds.gather}", "backward {phases_seconds.backward}",
      "reduce {phases_seconds.reduce}",
      "exposed communication {phases_seconds.communication_exposed}",
      "optimizer {phases_seconds.optimizer}", "other {phases_seconds.other}"},
     has_result},
    {"overlap",
     {"{phases_seconds.communication} of communication; the step waits for "
      "{phases_seconds.communication_exposed} of it"},
     hides_communication},
    {"ranks",
     {"{ranks.compute_seconds} of computing", "{ranks.wait_seconds} of waiting for slower ones"},
     has_several_ranks},
    {"link",
     {"{strategy.hosts:host}", "{link.latency_seconds} a short message",
      "{link.bandwidth_bytes_per_second} each way", "{link.communicator}"},
     has_link},
    {"compute",
     {"{compute.flops_per_second}",
      "{compute.utilization} of a peak of {compute.peak_flops_per_second}",
      "{compute.peak_source}"},
     executes_all_products},
    {"compute",
     {"{compute.utilization} of a peak of {compute.peak_flops_per_second}",
      "{compute.peak_source}"},
     saves_products},
    {"effective",
     {"{compute.flops_per_second}",
      "{compute.effective_utilization} of that peak with the products that Winograd's filtering "
      "saves"},
     saves_products},
    {"energy", {"{energy.joules_per_step} a step", "{energy.source}"}, has_result},
    {"loss",
     {"first {loss.first}, last {loss.last}", "test accuracy {accuracy.test}",
      "train accuracy {accuracy.train}", "target reached after {time_to_target_seconds}"},
     has_result},
    {"memory",
     {"peak {memory.peak_bytes}", "{memory.before_bytes} before planning",
      "predicted {memory.predicted_bytes} more"}},
    {"verified",
     {"{verification.status}", "{verification.reason}", "{verification.steps:step}",
      "largest error {verification.max_relative_error} of {verification.tolerance} allowed",
      "worst {verification.worst_tensor}"},
     has_verification},
    {"scaling",
     {"{scaling.mode}", "speedup {scaling.speedup}", "efficiency {scaling.efficiency}",
      "against {scaling.baseline}"},
     has_result},
}};

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  return single_line(fmt::format("{}", fmt::join(words, separator)));
}

/// "11.8 ms to 12.2 ms" over the ranks; empty where one of them is not known.
std::string range_over_ranks(const RunRecord& run, std::optional<double> RankRecord::* field) {
  std::vector<double> seconds;
  for (const RankRecord& rank : run.ranks)
    if (rank.*field) seconds.push_back(*(rank.*field));
  if (seconds.empty() || seconds.size() < run.ranks.size()) return {};
  const auto [least, most] = std::ranges::minmax(seconds);
  return fmt::format("{} to {}", human_text(least, Unit::seconds), human_text(most, Unit::seconds));
}

/// "cpu x 4", "cuda:0+cuda:1": equal ones in a row are counted.
std::string devices_text(const std::vector<std::string>& devices) {
  std::vector<std::string> words;
  for (auto device = devices.begin(); device != devices.end();) {
    const auto next = std::find_if(device, devices.end(),
                                   [&](const std::string& other) { return other != *device; });
    const auto count = next - device;
    words.push_back(count == 1 ? *device : fmt::format("{} x {}", *device, count));
    device = next;
  }
  return joined(words, "+");
}

/// A field as text, what follows from several, or what people want to see of three lists; empty if
/// not known.
std::string text_of(const RunRecord& run, std::string_view path) {
  if (path == "evidence") return ptbench::text_of(reliability_of(run));
  if (path == "strategy.devices") return devices_text(run.strategy.devices);
  if (path == "ranks.compute_seconds") return range_over_ranks(run, &RankRecord::compute_seconds);
  if (path == "ranks.wait_seconds") return range_over_ranks(run, &RankRecord::wait_seconds);
  if (path == "data.left_out")
    return run.data.samples_left_out.value_or(0) > 0
               ? human_text(*run.data.samples_left_out, Unit::count)
               : "";
  if (path == "samples.repetitions")
    return run.samples.repetitions.empty() ? "" : fmt::format("{}", run.samples.repetitions.size());
  if (path == "workload.input_shape")
    return fmt::format("{}", fmt::join(run.workload.input_shape, "x"));
  const Field& field = find_field(path);
  return human_text(field.get(run), field.unit);
}

/// `part` with its placeholders filled in; nothing if one of them is not known.
std::optional<std::string> filled_in(std::string_view part, const RunRecord& run) {
  std::string text;
  while (!part.empty()) {
    const std::size_t open = part.find('{');
    text += part.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = part.find('}', open);
    const std::string_view inside = part.substr(open + 1, close - open - 1);
    const std::size_t colon = inside.find(':');
    const std::string value = text_of(run, inside.substr(0, colon));
    if (value.empty()) return {};
    text += value;
    if (colon != std::string_view::npos)
      text += fmt::format(" {}{}", inside.substr(colon + 1), value == "1" ? "" : "s");
    part.remove_prefix(close + 1);
  }
  return text;
}

std::string text_of(const RunRecord& run, const Line& line) {
  std::string text;
  for (const std::string_view part : line.parts) {
    const auto filled = filled_in(part, run);
    if (!filled || filled->empty()) continue;
    if (!text.empty()) text += ", ";
    text += *filled;
  }
  return text;
}

std::string painted(const std::string& text, Paint paint, const ConsoleStyle& style) {
  if (!style.colour || paint == Paint::plain) return text;
  const std::string_view code = paint == Paint::bold ? "1" : paint == Paint::red ? "31" : "33";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string labelled(std::string_view label, std::string_view text, Paint paint,
                     const ConsoleStyle& style) {
  const std::string block = fmt::format("{:<{}}{}", label, kLabelWidth,
                                        wrapped(text, kIndent + kLabelWidth, style.columns));
  return std::string(kIndent, ' ') + painted(block, paint, style) + '\n';
}

std::string status_line(const RunRecord& run, const ConsoleStyle& style) {
  if (run.status == Status::ok) return {};
  const std::string reason = single_line(run.reason.value_or("no reason was recorded"));
  return labelled(name_of(run.status), reason,
                  run.status == Status::failed ? Paint::red : Paint::yellow, style);
}

std::string summary_of(const RunRecord& run, const ConsoleStyle& style) {
  std::string text = wrapped(single_line(run.id), kIndent, style.columns) + '\n';
  text += status_line(run, style);
  for (const Line& line : kLines) {
    if (line.shown != nullptr && !line.shown(run)) continue;
    const std::string content = text_of(run, line);
    if (!content.empty()) text += labelled(line.label, content, line.paint, style);
  }
  for (const MergedWarning& warning : merged_warnings({&run, 1})) {
    std::string content = warning.message;
    if (!warning.remedy.empty()) content += "; remedy: " + warning.remedy;
    text += labelled("warning", single_line(content), Paint::yellow, style);
  }
  return text;
}

std::string machine_line(const ResultFile& file, const ConsoleStyle& style) {
  const GeneratorRecord& generator = file.generator;
  const EnvironmentRecord& environment = file.environment;
  std::string text = fmt::format("{} {}", generator.name, generator.version);
  if (generator.build_type) text += fmt::format(" ({} build)", *generator.build_type);
  text += " on " + environment.host.name;
  if (environment.cpu.model) text += ", " + *environment.cpu.model;
  if (environment.cpu.cores)
    text +=
        fmt::format(", {} core{}", *environment.cpu.cores, *environment.cpu.cores == 1 ? "" : "s");
  if (environment.host.os) text += ", " + *environment.host.os;
  return wrapped(single_line(text), kIndent, style.columns) + '\n';
}

}  // namespace

std::string to_console(const ResultFile& file, const ConsoleStyle& style) {
  std::string text = machine_line(file, style);
  for (const RunRecord& run : file.runs) text += summary_of(run, style);
  return text;
}

}  // namespace ptbench
