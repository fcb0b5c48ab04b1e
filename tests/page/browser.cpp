#include "tests/page/browser.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <regex>

#include "tests/support/program.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_directory.h"

namespace ptbench::testing {
namespace {

constexpr const char* kBrowser = "/usr/bin/chromium";

/// Before all scripts of the page.
constexpr std::string_view kListener = R"js(
window.problems = [];
addEventListener('error', (event) => problems.push(`error: ${event.message}`));
addEventListener('unhandledrejection', (event) => problems.push(`rejection: ${event.reason}`));
addEventListener('securitypolicyviolation',
                 (event) => problems.push(`policy: ${event.violatedDirective} ${event.blockedURI}`));
for (const level of ['error', 'warn', 'log'])
  console[level] = (...words) => problems.push(`${level}: ${words.join(' ')}`);
)js";

/// After all scripts of the page: the result ends up in an attribute, as a text without quotes.
constexpr std::string_view kRunner = R"js(
(async () => {{
  const root = document.documentElement;
  const isDrawn = () => root.dataset.charts === 'drawn' || typeof Chart === 'undefined';
  for (let turn = 0; turn < 400 && !isDrawn(); turn += 1)
    await new Promise((resolve) => setTimeout(resolve, 20));
  let result = {{}};
  try {{
    result = await (async () => {{ {} }})() ?? {{}};
  }} catch (error) {{
    problems.push(`test: ${{error.stack}}`);
  }}
  result.problems = problems;
  root.setAttribute('data-told', encodeURIComponent(JSON.stringify(result)));
}})();
)js";

/// `page` with scripts of the test, which have the page's own nonce, as its policy asks.
std::string with_scripts(std::string page, const std::string& script) {
  std::smatch nonce;
  REQUIRE(std::regex_search(page, nonce, std::regex("script-src 'nonce-([0-9a-f]+)'")));
  const auto element = [&](const std::string& text) {
    return fmt::format("<script nonce=\"{}\">{}</script>\n", nonce[1].str(), text);
  };
  const std::string before = element(std::string(kListener));
  const std::string after = element(fmt::format(fmt::runtime(kRunner), script));
  page.insert(page.rfind("</body>"), after);
  page.insert(page.find("<title>"), before);
  return page;
}

/// "%7B" is "{".
std::string decoded(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      result += text[at];
      continue;
    }
    result += static_cast<char>(std::stoi(text.substr(at + 1, 2), nullptr, 16));
    at += 2;
  }
  return result;
}

}  // namespace

void require_browser() {
  if (!std::filesystem::exists(kBrowser))
    skip("there is no Chromium: scripts/setup browser installs it");
}

nlohmann::json in_browser(const std::string& page, const std::string& script, int width) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "page.html";
  std::ofstream(path, std::ios::binary) << with_scripts(page, script);
  const ProgramResult result =
      run_program({kBrowser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--disable-dev-shm-usage", "--disable-extensions", "--hide-scrollbars",
                   "--user-data-dir=" + (folder.path() / "profile").string(),
                   fmt::format("--window-size={},900", width), "--virtual-time-budget=20000",
                   "--dump-dom", "file://" + path.string()},
                  {.folder = folder.path(),
                   .environment = {"HOME=" + folder.path().string()},
                   .deadline = std::chrono::seconds(100)});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  std::smatch told;
  REQUIRE(std::regex_search(result.output, told, std::regex("data-told=\"([^\"]*)\"")));
  return nlohmann::json::parse(decoded(told[1].str()));
}

}  // namespace ptbench::testing
