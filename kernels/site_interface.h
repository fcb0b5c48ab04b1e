#pragma once

#include "kernels/site.h"
#include "kernels/spec.h"

namespace ptbench {

/// Interface "site" of engine modules: devices with their backends. C++ objects and exceptions
/// cross it, so executable and module have to be of one build: the version is a digest of the
/// compiler and of the headers that say how these objects lie in memory (cmake/PtbenchSite.cmake).
inline constexpr const char* kSiteInterface = "site";
inline constexpr unsigned kSiteAbi = PTBENCH_SITE_ABI;

/// What the interface's pointer points to. Objects that come out of it may live until the process
/// ends, as the module does.
struct SiteInterface {
  /// The device of that index, which is there, for the calling thread. Throws Error.
  Site (*open)(int index);
  /// Lets copies of the device `index` go straight to and from the memory of `peer`, where the
  /// machine can; else they go by way of the host. Throws Error.
  void (*reach)(int index, int peer);
  /// Whether the backend computes `spec` at all. Needs no device.
  bool (*computes)(const OperatorSpec& spec);
};

}  // namespace ptbench
