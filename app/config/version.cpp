#include "app/config/version.h"

#include <fmt/format.h>

#include "ptbench_git_commit.h"

namespace ptbench {

BuildInfo build_info() {
  return {.version = PTBENCH_VERSION,
          .git_commit = PTBENCH_GIT_COMMIT,
          .git_date = PTBENCH_GIT_DATE,
          .build_type = PTBENCH_BUILD_TYPE};
}

std::string version_text() {
  const BuildInfo info = build_info();
  return fmt::format("ptbench {} (commit {}, {})", info.version, info.git_commit, info.build_type);
}

}  // namespace ptbench
