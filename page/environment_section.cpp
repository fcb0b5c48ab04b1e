#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "page/html.h"
#include "page/sections.h"
#include "src/base/units.h"

namespace ptbench {
namespace {

/// Of a long history the newest files tell.
constexpr std::size_t kMostFiles = 20;

std::span<const ResultFile> last_of(std::span<const ResultFile> files) {
  return files.last(std::min(files.size(), kMostFiles));
}

std::string joined(const std::map<std::string, std::string>& pairs, std::string_view between) {
  std::string text;
  for (const auto& [name, value] : pairs)
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", name, between, value);
  return text;
}

std::string devices_text(const EnvironmentRecord& environment) {
  std::string text;
  for (const DeviceRecord& device : environment.devices) {
    text += (text.empty() ? "" : ", ") + device.id;
    if (device.name) text += " (" + *device.name + ")";
  }
  return text;
}

std::string generator_text(const GeneratorRecord& generator) {
  std::string text = generator.name + " " + generator.version;
  if (generator.git_commit) text += ", commit " + *generator.git_commit;
  if (generator.build_type) text += ", " + *generator.build_type + " build";
  return text;
}

std::string cpu_text(const CpuRecord& cpu) {
  std::string text = cpu.model.value_or("");
  if (cpu.cores)
    text += fmt::format("{}{} core{}", text.empty() ? "" : ", ", *cpu.cores,
                        *cpu.cores == 1 ? "" : "s");
  for (std::size_t at = 0; at < cpu.isa.size(); ++at)
    text += (at == 0 ? " with " : ", ") + cpu.isa[at];
  return text;
}

std::string row(std::string_view name, const std::string& value) {
  if (value.empty()) return {};
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, html_text(value));
}

std::string environment_of(const ResultFile& file) {
  const EnvironmentRecord& environment = file.environment;
  std::string system = environment.host.os.value_or("");
  if (environment.host.kernel)
    system += fmt::format("{}kernel {}", system.empty() ? "" : ", ", *environment.host.kernel);
  return "<dl class=\"environment\">\n" + row("Host", environment.host.name) +
         row("System", system) + row("CPU", cpu_text(environment.cpu)) +
         row("Memory", environment.memory_bytes ? format_bytes(*environment.memory_bytes) : "") +
         row("Devices", devices_text(environment)) +
         row("Libraries", joined(environment.libraries, " ")) +
         row("Variables", joined(environment.variables, "=")) +
         row("Measured by", generator_text(file.generator)) + row("Measured at", file.created) +
         "</dl>\n";
}

}  // namespace

std::string environment_section(std::span<const ResultFile> files,
                                std::span<const std::string> sides) {
  std::string html;
  const std::span<const ResultFile> shown = last_of(files);
  const std::size_t left_out = files.size() - shown.size();
  for (std::size_t at = 0; at < shown.size(); ++at) {
    if (!sides.empty())
      html += fmt::format("<h3>{}</h3>\n", html_text(sides.subspan(left_out)[at]));
    html += environment_of(shown[at]);
  }
  if (files.size() > kMostFiles)
    html +=
        fmt::format("<p>{} earlier files are not described here.</p>\n", files.size() - kMostFiles);
  return html_section("environment", "Environment", html);
}

std::string command_section(std::span<const ResultFile> files) {
  std::string html;
  std::string last;
  for (const ResultFile& file : last_of(files)) {
    const std::string line = shell_line(file.command);
    if (line.empty() || line == last) continue;
    last = line;
    html += fmt::format("<pre tabindex=\"0\"><code>{}</code></pre>\n", html_text(line));
  }
  return html_section("command", "The command that measured this", html);
}

}  // namespace ptbench
