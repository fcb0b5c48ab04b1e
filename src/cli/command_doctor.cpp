#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "reports/named_files.h"
#include "reports/output_file.h"
#include "src/base/error.h"
#include "src/cli/command_table.h"
#include "src/doctor/doctor.h"
#include "src/doctor/noise_watch.h"
#include "src/measure/record.h"

namespace ptbench {
namespace {

struct DoctorOptions {
  bool noise = false;
  std::optional<double> seconds;
  bool json = false;
};

constexpr double kUsualSeconds = 60;

/// Half a watch says so in a finding.
bool was_interrupted(const std::vector<FindingGroup>& groups) {
  return std::ranges::any_of(groups, [](const FindingGroup& group) {
    return std::ranges::find(group.findings, name_of(Status::interrupted), &Finding::state) !=
           group.findings.end();
  });
}

ExitCode examine(const DoctorOptions& options) {
  if (options.seconds && !options.noise)
    throw usage_error("--seconds needs --noise", "add --noise");
  const std::vector<FindingGroup> groups =
      options.noise ? watch_noise(options.seconds.value_or(kUsualSeconds))
                    : examine_machine(install_paths());
  write_standard_output(options.json ? tables_json(doctor_tables(groups))
                                     : doctor_text(groups, console_style(stdout).columns));
  return was_interrupted(groups) ? ExitCode::interrupted : ExitCode::ok;
}

}  // namespace

Command make_doctor_command() {
  return with_options<DoctorOptions>(
      {.name = "doctor",
       .summary = "show what this machine can measure with, and what is missing",
       .description =
           "Checks engines, devices, libraries, processor, noise and files, and measures how fast "
           "GPUs multiply and copy. It names what is missing and how to get it; a missing part is "
           "not an error. With --noise it measures for a minute and says how small a difference a "
           "benchmark can detect on this machine.",
       .examples = {{"ptbench doctor", "what this machine has, what is missing, and how to get it"},
                    {"ptbench doctor --noise", "how small a difference can be detected here"},
                    {"ptbench doctor --json", "the same for a script"}}},
      OptionTable<DoctorOptions>(
          {flag_option({.name = "noise",
                        .group = "Noise",
                        .help = "watch the machine: measure short repetitions for --seconds"},
                       &DoctorOptions::noise),
           real_option(
               {.name = "seconds", .value = "S", .help = "how long to watch", .fallback = "60"},
               &DoctorOptions::seconds, 1, 86400),
           flag_option({.name = "json", .group = "Format", .help = "as JSON, with raw numbers"},
                       &DoctorOptions::json)}),
      examine);
}

}  // namespace ptbench
