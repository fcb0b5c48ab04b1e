#pragma once

#include <span>
#include <string>
#include <vector>

#include "page/page.h"

namespace ptbench {

// The sections of the page, in the order in which they stand: HTML, empty where there is nothing to
// show. Each is a file of that name, but for the notes, which share page/notes.cpp.

/// Which strategy wins, how well it scales, what it loses most to, how far that can be trusted.
[[nodiscard]] std::string answer_section(std::span<const ResultFile> files);

/// What was compared, and a verdict for each run.
[[nodiscard]] std::string verdict_section(const Comparison& comparison);

/// The step of BASE beside that of NEW, how it changes, and what decided.
[[nodiscard]] std::string side_section(const Comparison& comparison);

/// Every chart: its drawing, its values as a table, and for scripts as JSON.
[[nodiscard]] std::string chart_section(std::span<const PageChart> charts);

/// A table with a row a run. `sides`: what each file is called, in a column of its own, as below;
/// empty: nothing was compared.
[[nodiscard]] std::string run_section(std::span<const ResultFile> files,
                                      std::span<const std::string> sides = {});

/// What each strategy lost in scaling, and what to try.
[[nodiscard]] std::string loss_notes(std::span<const ResultFile> files);
/// Runs that failed, were skipped or interrupted, by reason.
[[nodiscard]] std::string trouble_notes(std::span<const ResultFile> files,
                                        std::span<const std::string> sides = {});
/// Warnings, each once with the runs that it concerns.
[[nodiscard]] std::string warning_notes(std::span<const ResultFile> files,
                                        std::span<const std::string> sides = {});
/// What was compared with serial training, with which result.
[[nodiscard]] std::string verification_notes(std::span<const ResultFile> files);

/// Where each file was measured.
[[nodiscard]] std::string environment_section(std::span<const ResultFile> files,
                                              std::span<const std::string> sides = {});
/// The commands that measured the files.
[[nodiscard]] std::string command_section(std::span<const ResultFile> files);

}  // namespace ptbench
