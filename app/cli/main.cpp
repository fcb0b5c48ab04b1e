#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "app/cli/command_table.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/device/memory.h"
#include "src/process/standard_streams.h"

namespace ptbench {
namespace {

ExitCode report(const Error& error) {
  log_error(error.what());
  if (!error.remedy().empty()) log_note("remedy: " + error.remedy());
  return error.code();
}

ExitCode report_defect(const std::exception& error) {
  log_error(error.what());
  log_note("this is a bug in ptbench: please report the line above and the command");
  return ExitCode::defect;
}

/// The one place where exceptions become exit codes.
ExitCode guarded_main(const std::vector<std::string>& command_line) {
  try {
    const ExitCode code = dispatch(command_line);
    if (const auto failure = finish_standard_output()) return report(*failure);
    return code;
  } catch (const Error& error) {
    return report(error);
  } catch (const std::bad_alloc&) {
    return report(usage_error(
        "out of memory",
        remedy_for_no_memory("choose a smaller --batch-size or model, or free memory")));
  } catch (const std::system_error& error) {
    if (const auto failure = finish_standard_output()) return report(*failure);
    // A thread that cannot be had, for want of addresses or of processes.
    if (error.code() != std::errc::resource_unavailable_try_again) return report_defect(error);
    return report(usage_error("no more threads can be started",
                              remedy_for_no_memory("raise the limit of processes, ulimit -u")));
  } catch (const std::exception& error) {
    // Libraries that print throw errors of their own when they cannot.
    if (const auto failure = finish_standard_output()) return report(*failure);
    return report_defect(error);
  }
}

}  // namespace
}  // namespace ptbench

int main(int argc, char** argv) {
  ptbench::reserve_standard_streams();
  ptbench::let_large_writes_fail();
  return static_cast<int>(ptbench::guarded_main({argv, argv + argc}));
}
