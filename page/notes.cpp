#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "page/html.h"
#include "page/sections.h"
#include "reports/scaling_text.h"
#include "reports/troubles.h"

namespace ptbench {
namespace {

constexpr std::size_t kMostLines = 8;
constexpr std::size_t kMostIds = 200;

std::string items(const std::vector<std::string>& texts, std::size_t from, std::size_t to) {
  std::string html = "<ul>\n";
  for (std::size_t at = from; at < to; ++at)
    html += fmt::format("<li>{}</li>\n", html_text(texts[at]));
  return html + "</ul>\n";
}

/// The first lines; what follows is folded away.
std::string list_html(const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  const std::size_t open = std::min(texts.size(), kMostLines);
  std::string html = items(texts, 0, open);
  if (texts.size() > open)
    html += fmt::format("<details><summary>{} more</summary>\n{}</details>\n", texts.size() - open,
                        items(texts, open, texts.size()));
  return html;
}

/// "3 runs", folded: which.
std::string concerned(const std::vector<std::string>& ids, std::size_t all) {
  std::string html =
      fmt::format("<details><summary>{} of {} runs</summary>\n<ul>\n", ids.size(), all);
  for (std::size_t at = 0; at < std::min(ids.size(), kMostIds); ++at)
    html += fmt::format("<li><code>{}</code></li>\n", html_text(ids[at]));
  if (ids.size() > kMostIds) html += fmt::format("<li>{} more</li>\n", ids.size() - kMostIds);
  return html + "</ul></details>\n";
}

/// Notes of files, each under its file's name where there are several.
class FileNotes {
 public:
  FileNotes(std::span<const ResultFile> files, std::span<const std::string> sides)
      : files_(files), sides_(sides) {}

  /// Those of the next file.
  void add(const std::string& notes) {
    const std::size_t at = next_++;
    if (notes.empty()) return;
    if (files_.size() > 1) html_ += fmt::format("<h3>{}</h3>\n", html_text(name_of_file(at)));
    html_ += notes;
  }
  [[nodiscard]] const std::string& html() const { return html_; }

 private:
  [[nodiscard]] std::string name_of_file(std::size_t at) const {
    const ResultFile& file = files_[at];
    return at < sides_.size() ? sides_[at]
                              : fmt::format("{}, {}", file.environment.host.name, file.created);
  }

  std::span<const ResultFile> files_;
  std::span<const std::string> sides_;
  std::size_t next_ = 0;
  std::string html_;
};

/// The runs that have any of these warnings.
std::vector<std::string> ids_with(const std::vector<std::string>& codes, const ResultFile& file) {
  std::vector<std::string> ids;
  for (const RunRecord& run : file.runs)
    if (std::ranges::any_of(run.warnings, [&](const WarningRecord& warning) {
          return std::ranges::find(codes, warning.code) != codes.end();
        }))
      ids.push_back(run.id);
  return ids;
}

std::size_t count_runs(std::span<const ResultFile> files) {
  std::size_t runs = 0;
  for (const ResultFile& file : files) runs += file.runs.size();
  return runs;
}

/// Runs that share something, in the order in which the first of each begins.
template <class Key, class Fact>
class Kinds {
 public:
  void add(const Key& key, const Fact& fact, const std::string& id) {
    const auto [place, is_new] = places_.try_emplace(key, kinds_.size());
    if (is_new) kinds_.push_back({fact, {}});
    kinds_[place->second].second.push_back(id);
  }
  [[nodiscard]] const std::vector<std::pair<Fact, std::vector<std::string>>>& all() const {
    return kinds_;
  }

 private:
  std::map<Key, std::size_t> places_;
  std::vector<std::pair<Fact, std::vector<std::string>>> kinds_;
};

/// "max. relative error 1.5e-07 of 1e-05 allowed, in fc1.weight".
std::string error_text(const VerificationRecord& verification) {
  if (!verification.max_relative_error) return {};
  std::string text = fmt::format("largest relative error {:.2g}", *verification.max_relative_error);
  if (verification.tolerance) text += fmt::format(" of {:.2g} allowed", *verification.tolerance);
  if (verification.worst_tensor) text += fmt::format(", in {}", *verification.worst_tensor);
  return text;
}

std::string_view mark_of(VerificationStatus status) {
  switch (status) {
    case VerificationStatus::failed: return "bad";
    case VerificationStatus::weak: return "doubt";
    case VerificationStatus::passed:
    case VerificationStatus::not_run: return "";
  }
  return "";
}

std::string words_of(VerificationStatus status) {
  std::string words(name_of(status));
  std::ranges::replace(words, '_', ' ');
  return words;
}

}  // namespace

std::string loss_notes(std::span<const ResultFile> files) {
  std::vector<std::string> lines;
  for (const ResultFile& file : files)
    for (const std::string& line : scaling_lines(file)) lines.push_back(line);
  return html_section("losses", "Why not better", list_html(lines));
}

std::string trouble_notes(std::span<const ResultFile> files, std::span<const std::string> sides) {
  FileNotes all(files, sides);
  for (const ResultFile& file : files) {
    std::string notes;
    for (const Trouble& trouble : troubles_of(file.runs))
      notes +=
          fmt::format("<div class=\"note {}\"><p><strong>{}</strong>: {}</p>\n{}</div>\n",
                      trouble.status == Status::failed ? "bad" : "doubt", name_of(trouble.status),
                      html_text(trouble.reason), concerned(trouble.ids, file.runs.size()));
    all.add(notes);
  }
  return html_section("troubles", "Runs that did not finish", all.html());
}

std::string warning_notes(std::span<const ResultFile> files, std::span<const std::string> sides) {
  FileNotes all(files, sides);
  for (const ResultFile& file : files) {
    std::string notes;
    for (const MergedWarning& warning : merged_warnings(file.runs)) {
      const std::vector<std::string> ids = ids_with(warning.codes, file);
      notes += fmt::format("<div class=\"note doubt\"><p><strong>{}</strong>: {}{}</p>\n",
                           html_text(warning.name), ids.size() > 1 ? "for instance, " : "",
                           html_text(warning.message));
      if (!warning.remedy.empty())
        notes += fmt::format("<p>Remedy: {}</p>\n", html_text(warning.remedy));
      notes += concerned(ids, file.runs.size()) + "</div>\n";
    }
    all.add(notes);
  }
  return html_section("warnings", "Warnings", all.html());
}

std::string verification_notes(std::span<const ResultFile> files) {
  using Key = std::pair<VerificationStatus, std::string>;
  Kinds<Key, Key> kinds;
  std::map<VerificationStatus, const VerificationRecord*> worst;
  for (const ResultFile& file : files)
    for (const RunRecord& run : file.runs) {
      const VerificationRecord& verification = run.verification;
      const Key key(verification.status, verification.reason.value_or(""));
      kinds.add(key, key, run.id);
      const VerificationRecord*& so_far = worst[verification.status];
      if (so_far == nullptr ||
          so_far->max_relative_error.value_or(-1) < verification.max_relative_error.value_or(-1))
        so_far = &verification;
    }
  std::string html;
  for (const auto& [key, ids] : kinds.all()) {
    html += fmt::format("<div class=\"note {}\"><p><strong>{}</strong>", mark_of(key.first),
                        words_of(key.first));
    if (!key.second.empty()) html += ": " + html_text(key.second);
    if (const std::string error = error_text(*worst[key.first]); !error.empty())
      html += "; " + html_text(error);
    html += "</p>\n" + concerned(ids, count_runs(files)) + "</div>\n";
  }
  return html_section("verification", "Verification against serial training", html);
}

}  // namespace ptbench
