#include "kernels/site.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cuda_module.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/device/cpu_device.h"

namespace ptbench {
namespace {

Site open_cpu(const SiteChoice& choice) {
  auto device = std::make_unique<CpuDevice>(choice.topology, choice.threads, choice.first_core);
  auto backend = std::make_unique<CpuBackend>(*device);
  return {std::move(device), std::move(backend)};
}

Site open_cuda(const SiteChoice& choice) {
  const CudaModule engine(choice.device);
  Site site = engine.open();
  for (const std::string& peer : choice.peers) engine.reach(peer);
  return site;
}

}  // namespace

std::vector<SiteRow> site_catalog() {
  return {{.device = "cpu", .open = open_cpu}, {.device = "cuda", .open = open_cuda}};
}

Site open_site(const SiteChoice& choice, const std::vector<SiteRow>& catalog) {
  const std::string kind = choice.device.substr(0, choice.device.find(':'));
  const auto row = std::ranges::find(catalog, kind, &SiteRow::device);
  if (row == catalog.end())
    throw capability_error(fmt::format("this build cannot train on '{}'", printable(choice.device)),
                           "use --device cpu");
  return row->open(choice);
}

}  // namespace ptbench
