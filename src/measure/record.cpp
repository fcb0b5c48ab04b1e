#include "src/measure/record.h"

#include "src/base/error.h"

namespace ptbench {

std::string_view name_of(Status status) {
  switch (status) {
    case Status::ok: return "ok";
    case Status::failed: return "failed";
    case Status::skipped: return "skipped";
    case Status::interrupted: return "interrupted";
  }
  throw Defect("a status without a name");
}

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::noise: return "noise";
    case StopReason::max_time: return "max_time";
    case StopReason::steps: return "steps";
    case StopReason::epochs: return "epochs";
    case StopReason::target: return "target";
  }
  throw Defect("a stop reason without a name");
}

std::string_view name_of(VerificationStatus status) {
  switch (status) {
    case VerificationStatus::passed: return "passed";
    case VerificationStatus::weak: return "weak";
    case VerificationStatus::failed: return "failed";
    case VerificationStatus::not_run: return "not_run";
  }
  throw Defect("a verification status without a name");
}

std::string_view name_of(ScalingMode mode) {
  switch (mode) {
    case ScalingMode::weak: return "weak";
    case ScalingMode::strong: return "strong";
  }
  throw Defect("a scaling mode without a name");
}

std::string_view name_of(RatioBasis basis) {
  switch (basis) {
    case RatioBasis::clean_rounds: return "clean_rounds";
    case RatioBasis::all_rounds: return "all_rounds";
    case RatioBasis::apart: return "apart";
  }
  throw Defect("a basis without a name");
}

void remove_warning(RunRecord& run, std::string_view code) {
  std::erase_if(run.warnings, [code](const WarningRecord& old) { return old.code == code; });
}

}  // namespace ptbench
