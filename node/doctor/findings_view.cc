#include "node/doctor/findings_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "node/text_table.h"
#include "node/visible_text.h"

namespace troupe::detail {
namespace {

std::string_view name_of(Mark mark) {
  switch (mark) {
    case Mark::ok: return "ok";
    case Mark::warning: return "warning";
    case Mark::problem: return "problem";
  }
  return "";
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::size_t count_of(std::span<const HostFindings> hosts, Mark mark) {
  std::size_t count = 0;
  for (const HostFindings& host : hosts) {
    count += static_cast<std::size_t>(
        std::ranges::count_if(host.findings, [&](const Finding& finding) { return finding.mark == mark; }));
  }
  return count;
}

std::string text_of(std::span<const HostFindings> hosts) {
  std::size_t width = 0;
  for (const HostFindings& host : hosts) {
    for (const Finding& finding : host.findings) width = std::max(width, finding.check.size());
  }
  std::string text;
  for (const HostFindings& host : hosts) {
    text += visible_line(host.host) + "\n";
    for (const Finding& finding : host.findings) {
      text +=
          fmt::format("  {:<7}  {:<{}}  {}\n", name_of(finding.mark), finding.check, width, visible_line(finding.seen));
      if (!finding.hint.empty())
        text += fmt::format("  {:<7}  {:<{}}  {}\n", "", "", width, visible_line(finding.hint));
    }
  }
  return text + fmt::format("doctor: {}, {}, {}\n", counted(hosts.size(), "host"),
                            counted(count_of(hosts, Mark::problem), "problem"),
                            counted(count_of(hosts, Mark::warning), "warning"));
}

std::string json_of(std::span<const HostFindings> hosts) {
  using nlohmann::json;
  json all = json::array();
  for (const HostFindings& host : hosts) {
    json findings = json::array();
    for (const Finding& finding : host.findings) {
      findings.push_back(
          {{"mark", name_of(finding.mark)}, {"check", finding.check}, {"seen", finding.seen}, {"hint", finding.hint}});
    }
    all.push_back({{"host", host.host}, {"findings", std::move(findings)}});
  }
  const json whole{{"hosts", std::move(all)},
                   {"problems", count_of(hosts, Mark::problem)},
                   {"warnings", count_of(hosts, Mark::warning)}};
  return whole.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace troupe::detail
