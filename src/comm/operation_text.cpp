#include "src/comm/operation_text.h"

#include <fmt/format.h>

#include <string_view>

#include "src/base/units.h"

namespace ptbench {
namespace {

using shared::Collective;

std::string_view name_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce: return "all_reduce";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::all_gather: return "all_gather";
    case Collective::reduce: return "reduce";
    case Collective::gather: return "gather";
    case Collective::broadcast: return "broadcast";
    case Collective::barrier: return "barrier";
    case Collective::send: return "send";
    case Collective::receive: return "receive";
  }
  return "unknown";
}

/// What tells this operation from others of its name and length.
std::string details_of(const shared::Operation& operation) {
  switch (operation.collective) {
    case Collective::broadcast:
    case Collective::receive: return fmt::format(" from rank {}", operation.root);
    case Collective::gather:
    case Collective::send: return fmt::format(" to rank {}", operation.root);
    case Collective::reduce:
      return fmt::format(" {} rank {}", operation.at_root ? "at" : "to", operation.root);
    default: return {};
  }
}

std::string reduction_of(const shared::Operation& operation) {
  std::string text = operation.wire == WireType::bf16 ? " in bf16" : "";
  if (operation.scale != 1) text += fmt::format(" times {:g}", operation.scale);
  return text;
}

}  // namespace

std::string operation_text(const shared::Operation& operation) {
  if (operation.collective == Collective::barrier) return "barrier";
  return fmt::format("{} of {} bytes{}{}{}", name_of(operation.collective),
                     format_count(static_cast<Size>(operation.bytes)),
                     operation.type == ElementType::bf16 ? " of bf16" : "", details_of(operation),
                     reduction_of(operation));
}

std::string ranks_text(const std::vector<Size>& ranks) {
  constexpr std::size_t kMost = 8;
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  std::string text = "ranks";
  for (std::size_t i = 0; i < ranks.size() && i < kMost; ++i) {
    const bool is_last = i + 1 == ranks.size();
    text += fmt::format("{} {}", i == 0 ? "" : is_last ? " and" : ",", ranks[i]);
  }
  if (ranks.size() > kMost) text += fmt::format(" and {} more", ranks.size() - kMost);
  return text;
}

}  // namespace ptbench
