#include "src/base/phase_board.h"

namespace ptbench {

std::string_view name_of(RankPhase phase) {
  switch (phase) {
    case RankPhase::starting: return "starting";
    case RankPhase::loading_data: return "loading data";
    case RankPhase::choosing: return "choosing operators";
    case RankPhase::planning: return "planning";
    case RankPhase::verifying: return "verifying";
    case RankPhase::warming_up: return "warming up";
    case RankPhase::measuring: return "measuring";
    case RankPhase::resting: return "waiting for its turn";
    case RankPhase::evaluating: return "evaluating";
    case RankPhase::timing_phases: return "timing phases";
    case RankPhase::tracing: return "tracing";
    case RankPhase::saving: return "saving";
    case RankPhase::done: return "done";
  }
  return "unknown";
}

}  // namespace ptbench
