#include "kernels/cuda/plan_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/input_file.h"
#include "src/base/write_all.h"

namespace ptbench::cuda {
namespace {

constexpr std::string_view kPlanSchema = "ptbench.cudnn-plan/1";

/// A plan has some hundred kilobytes.
constexpr InputRule kPlanFileRule{.largest = Bytes{64} << 20U};

/// A line that a text which was cut or changed does not match.
std::string digest_line(std::string_view text) { return fmt::format("{:016x}\n", fnv1a(text)); }
constexpr std::size_t kDigestLine = 17;  ///< its length

/// Puts a whole file in another's place, which stays as it is where that fails.
void put_in_place(const std::filesystem::path& file, std::string_view content) {
  std::string temporary = file.string() + ".XXXXXX";
  const int opened = mkostemp(temporary.data(), O_CLOEXEC);
  if (opened < 0) return;
  const bool is_written = write_all(opened, content) == 0;
  const bool is_closed = close(opened) == 0;
  if (is_written && is_closed && std::rename(temporary.c_str(), file.c_str()) == 0) return;
  (void)unlink(temporary.c_str());
}

}  // namespace

PlanFiles::PlanFiles(std::filesystem::path folder, std::string site)
    : folder_(std::move(folder)), site_(std::move(site)) {}

std::string PlanFiles::head_of(const std::string& plan) const {
  return fmt::format("{}\n{}\n{}\n", kPlanSchema, site_, plan);
}

std::filesystem::path PlanFiles::file_of(const std::string& head) const {
  return folder_ / fmt::format("{:016x}.plan", fnv1a(head));
}

std::optional<std::string> PlanFiles::load(const std::string& plan) const {
  if (folder_.empty()) return std::nullopt;
  const std::string head = head_of(plan);
  const auto refuse = [](const InputProblem& problem) { return usage_error(problem.predicate); };
  try {
    const std::string content = read_input(file_of(head), kPlanFileRule, refuse);
    if (!content.starts_with(head)) return std::nullopt;
    const std::string_view rest = std::string_view(content).substr(head.size());
    const std::string_view text = rest.substr(std::min(rest.size(), kDigestLine));
    if (text.empty() || !rest.starts_with(digest_line(text))) return std::nullopt;
    return std::string(text);
  } catch (const Error&) {
    return std::nullopt;  // there is none
  }
}

void PlanFiles::keep(const std::string& plan, const std::string& text) const {
  if (folder_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  const std::string head = head_of(plan);
  put_in_place(file_of(head), head + digest_line(text) + text);
}

}  // namespace ptbench::cuda
