#include "app/session/sweep_files.h"

namespace ptbench {

SweepFiles::SweepFiles(const std::vector<std::string>& outputs) {
  for (const std::string& output : outputs)
    reports_.push_back({&find_reporter(output), std::make_unique<OutputFile>(output)});
}

void SweepFiles::save(const ResultFile& result) {
  for (const Report& report : reports_)
    if (!report.reporter->is_for_the_end) report.file->commit(report.reporter->write(result));
}

void SweepFiles::finish(const ResultFile& result) {
  for (const Report& report : reports_)
    if (report.reporter->is_for_the_end) report.file->commit(report.reporter->write(result));
}

}  // namespace ptbench
