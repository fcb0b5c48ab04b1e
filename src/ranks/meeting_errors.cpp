#include "src/ranks/meeting_errors.h"

#include <fmt/format.h>

#include <system_error>

namespace ptbench::meeting {

double seconds_of(std::chrono::milliseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

Error did_not_come(const std::string& who, const MeetingPoint& point, std::string_view doubt) {
  return run_error(fmt::format("{} did not come to {} within {:g} s{}{}", who, point.place,
                               seconds_of(point.timeout),
                               doubt_about(point.address, socket_name(point.job)), doubt),
                   remedy_for(point.address, point.hosts != HostsOfRanks::one));
}

Error taken(const MeetingPoint& point) {
  return usage_error(fmt::format("another job uses {}", point.place),
                     "give this one another port: PTBENCH_ADDR=host:port");
}

Error refused_by_system(std::string_view what, int error_number) {
  return run_error(fmt::format("{}: {}", what, std::generic_category().message(error_number)),
                   "check the limit of open files (ulimit -n)");
}

}  // namespace ptbench::meeting
