#include "node/control/kill_command.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string_view>
#include <vector>

#include "node/control/cluster_search.h"
#include "node/control/control_client.h"
#include "node/control/control_socket.h"
#include "node/control/report_json.h"
#include "node/text_table.h"
#include "node/visible_text.h"

namespace troupe {
using detail::fail;

int kill_node(const KillOptions& options) {
  const int signal = detail::signal_number(options.signal);
  if (options.node.empty()) return fail("no node was named");
  if (signal == 0) return fail(fmt::format("\"{}\" is no signal: TERM, KILL, STOP, CONT, 15, ...", options.signal));
  const std::vector<ClusterView> all = detail::ask_around(detail::control_names(), detail::Nodes::no, options.patience);
  const auto cluster = detail::find_cluster(all, options.cluster, options.node);
  if (!cluster) return 1;
  const auto meant = std::ranges::find(cluster->nodes, options.node, &NodeView::name);
  const std::vector<ControlAnswer> answers =
      ask({{{cluster->id, meant->launcher}, fmt::format("kill {} {}", options.node, signal)}}, options.patience);
  if (answers.empty()) return fail(fmt::format("{} is of another user", options.node));
  if (!answers.front().ok()) return fail(fmt::format("its launcher: {}", answers.front().problem));
  try {
    const LaunchedNode node = parse_launched_node(answers.front().text);
    fmt::print("sent SIG{} to {}, pid {}{}\n", sigabbrev_np(signal), detail::visible_line(node.name), node.pid,
               node.host.empty() ? "" : detail::visible_line(" on host " + node.host));
  } catch (const ReportError& error) {
    return fail(detail::visible_line(error.what()));
  }
  return 0;
}

int detail::signal_number(const std::string& text) {
  std::string word = text;
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::toupper(c); });
  if (word.starts_with("SIG")) word.erase(0, 3);
  for (int number = 1; number < NSIG; ++number) {
    const char* const name = sigabbrev_np(number);
    if (name != nullptr && (word == name || word == fmt::format("{}", number))) return number;
  }
  return 0;
}

}  // namespace troupe
