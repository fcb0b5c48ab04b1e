#include "app/cli/man_page.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "app/cli/help.h"
#include "app/config/version.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

struct Entry {
  std::string_view term;
  std::string_view meaning;
};

constexpr std::array<Entry, 8> kExitCodes{{
    {"0", "success"},
    {"1", "wrong usage or configuration, predicted memory too large, output not writable"},
    {"2", "a configuration failed, or did not match serial training"},
    {"3", "compare or gate: a run is slower, failed, or is missing in NEW"},
    {"4", "compare or gate with --strict: a verdict is ambiguous or missing"},
    {"5", "a device, engine, library or precision is absent"},
    {"70", "a bug in ptbench: please report it"},
    {"130", "interrupted; what was measured is saved"},
}};

constexpr std::array<Entry, 7> kVariables{{
    {"PTBENCH_RANK, PTBENCH_WORLD_SIZE, PTBENCH_LOCAL_RANK, PTBENCH_ADDR",
     "place this process among ranks that were started by hand; torchrun's, Open MPI's, MPICH's "
     "and Slurm's variables do the same"},
    {"PTBENCH_TOKEN",
     "a secret that all ranks of a job share: a process with another token is sent away"},
    {"PTBENCH_HOST_ID", "identifies this host, in place of its name"},
    {"PTBENCH_ISA", "the newest instruction set to use: x86-64, x86-64-v3 or x86-64-v4"},
    {"CUDA_VISIBLE_DEVICES", "the devices that cuda:0, cuda:1, ... are"},
    {"XDG_CACHE_HOME",
     "where choices of operators, compiled plans and learnt noise are kept; by default ~/.cache"},
    {"NO_COLOR", "if set, terminal output has no colours"},
}};

/// The code point of a well-formed sequence.
char32_t code_point(std::string_view sequence) {
  constexpr std::array<unsigned, 5> kFirstBits{0, 0x7F, 0x1F, 0x0F, 0x07};
  auto point = static_cast<unsigned char>(sequence.front()) & kFirstBits.at(sequence.size());
  for (const char next : sequence.substr(1))
    point = (point << 6U) | (static_cast<unsigned char>(next) & 0x3FU);
  return point;
}

std::string_view escape_of(char letter) {
  switch (letter) {
    case '\\': return "\\e";
    case '-': return "\\-";
    case '\'': return "\\(aq";
    case '`': return "\\(ga";
    case '^': return "\\(ha";
    case '~': return "\\(ti";
    case '"': return "\\(dq";
    default: return {};
  }
}

/// `roff_text` on lines that are not long: manual pages are read with editors too.
std::string flowed(std::string_view text) {
  constexpr std::size_t kWide = 70;
  std::string result;
  std::size_t begin = 0;  // of the last line
  for (const char letter : roff_text(text)) {
    const bool at_start = result.size() == begin;
    if (letter == ' ' && result.size() - begin >= kWide) {
      result += '\n';
      begin = result.size();
    } else {
      if (letter == '.' && at_start && begin > 0) result += "\\&";  // else it begins a request
      result += letter;
    }
  }
  return result;
}

std::string paragraph(std::string_view text) {
  return text.empty() ? std::string() : fmt::format(".PP\n{}\n", flowed(text));
}

std::string tagged(std::string_view term, std::string_view meaning) {
  return fmt::format(".TP\n{}\n{}\n", term, flowed(meaning));
}

std::string bold(std::string_view text) { return "\\fB" + roff_text(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff_text(text) + "\\fR"; }

/// "-b, --batch-size B", the names bold and the value slanted.
std::string term_of(const OptionInfo& option) {
  if (option.argument) return italic(option.name);
  std::string text = bold(option.spelling());
  if (option.short_name != '\0') text = bold(fmt::format("-{}", option.short_name)) + ", " + text;
  return option.value.empty() ? text : text + " " + italic(option.value);
}

std::string options_of(const Command& command) {
  std::string text;
  for (const std::string& group : groups_of(command.options)) {
    text += fmt::format(".PP\n{}:\n", italic(group));
    for (const OptionInfo& option : command.options) {
      if (option.group != group || option.hidden) continue;
      std::string meaning = meaning_of(option);
      if (!option.fallback.empty()) meaning += fmt::format(" [default: {}]", option.fallback);
      text += tagged(term_of(option), meaning);
    }
  }
  return text;
}

std::string section_of(const Command& command) {
  return fmt::format(".SS ptbench {}\n{}\n", roff_text(command.name), flowed(command.summary)) +
         paragraph(command.description) + fmt::format(".PP\n{}\n", bold(usage_line(command))) +
         options_of(command);
}

std::string examples_of(const std::vector<Command>& commands) {
  std::string text;
  for (const Command& command : commands)
    for (const Example& example : command.examples)
      text += tagged(bold(example.line), example.purpose);
  return text;
}

template <std::size_t Count>
std::string list_of(const std::array<Entry, Count>& entries) {
  std::string text;
  for (const Entry& entry : entries) text += tagged(bold(entry.term), entry.meaning);
  return text;
}

}  // namespace

std::string roff_text(std::string_view text) {
  const std::string line = single_line(text);
  std::string result;
  for (std::string_view rest = line; !rest.empty();) {
    const std::size_t size = utf8_sequence(rest);
    if (size > 1) {
      result +=
          fmt::format("\\[u{:04X}]", static_cast<std::uint32_t>(code_point(rest.substr(0, size))));
    } else {
      const std::string_view escape = escape_of(rest.front());
      if (result.empty() && rest.front() == '.') result += "\\&";  // else it begins a request
      result += escape.empty() ? rest.substr(0, 1) : escape;
    }
    rest.remove_prefix(size);
  }
  return result;
}

std::string man_page(const std::vector<Command>& commands) {
  const BuildInfo build = build_info();
  std::string text = fmt::format(
      ".\\\" Written by ptbench help --man\n.TH PTBENCH 1 \"{}\" \"ptbench {}\" \"User "
      "Commands\"\n",
      build.git_date, roff_text(build.version));
  text += ".SH NAME\nptbench \\- benchmark parallel training strategies\n";
  text += ".SH SYNOPSIS\n.B ptbench\n.I COMMAND\n.RI [ options ]\n";
  text += ".SH DESCRIPTION\n" +
          flowed(
              "ptbench runs complete training steps of a workload under a parallel strategy on "
              "this machine, checks them against serial training, times them, and says which way "
              "of parallelising them is fastest, how well it scales, and where the rest of the "
              "time goes. Standard output is data; progress and messages go to standard error.") +
          "\n";
  text += ".SH COMMANDS\n";
  for (const Command& command : commands) text += section_of(command);
  text += ".SH EXIT STATUS\n" + list_of(kExitCodes);
  text += ".SH ENVIRONMENT\n" + list_of(kVariables);
  text += ".SH EXAMPLES\n" + examples_of(commands);
  return text;
}

}  // namespace ptbench
