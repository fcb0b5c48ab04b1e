#include "app/publish/drawn_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "app/publish/gnuplot_process.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/process/output_file.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

void tell(const std::string& path, const std::string& what) {
  log_note(fmt::format("{}: {}", single_line(path), single_line(what)));
}

}  // namespace

std::vector<std::string> drawing_paths(const std::string& output, std::span<const Chart> charts,
                                       DrawingFormat format) {
  if (charts.size() < 2 || format == DrawingFormat::pdf) return {output};
  const fs::path path(output);
  std::vector<std::string> paths;
  paths.reserve(charts.size());
  for (const Chart& chart : charts) {
    fs::path drawn = path;
    drawn.replace_filename(path.stem().string() + '-' + chart.name + path.extension().string());
    paths.push_back(drawn.string());
  }
  return paths;
}

void write_drawings(const std::string& output, std::span<const Chart> charts,
                    const Drawing& drawing) {
  std::vector<std::unique_ptr<OutputFile>> files;
  for (const std::string& path : drawing_paths(output, charts, drawing.format))
    files.push_back(std::make_unique<OutputFile>(path));
  const std::vector<std::string> drawn = draw(charts, drawing);
  for (std::size_t at = 0; at < files.size(); ++at) {
    files[at]->commit(drawn[at]);
    tell(files[at]->path().string(), files.size() == charts.size()
                                         ? charts[at].title
                                         : fmt::format("{} charts", charts.size()));
  }
}

}  // namespace ptbench
