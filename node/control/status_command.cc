#include "node/control/status_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/control/cluster_search.h"
#include "node/control/control_client.h"
#include "node/control/control_socket.h"
#include "node/control/report_json.h"
#include "node/control/stack_view.h"
#include "node/text_table.h"
#include "node/visible_text.h"

namespace troupe {
namespace {

using detail::ask_around;
using detail::fail;
using detail::list_of;
using detail::Nodes;
using detail::nothing_found;

/// Keeps the answers that are meant most: of the cluster whose id is `word`, not of those whose ids begin with it; of
/// this user's processes, not of other users' (root gets those, too) or of unknown ones, which take no questions.
void keep_meant(std::vector<ControlAnswer>& answers, const std::string& word) {
  const auto keep_if_any = [&](const auto& is_better) {
    if (std::ranges::any_of(answers, is_better)) std::erase_if(answers, std::not_fn(is_better));
  };
  keep_if_any([&](const ControlAnswer& answer) { return answer.from.cluster_id == word; });
  keep_if_any([](const ControlAnswer& answer) { return answer.user == ::geteuid(); });
}

}  // namespace

int show_status(const StatusOptions& options) {
  const std::vector<ClusterView> all = ask_around(detail::control_names(), Nodes::yes, options.patience);
  std::vector<ClusterView> meant;
  std::copy_if(all.begin(), all.end(), std::back_inserter(meant),
               [&](const ClusterView& cluster) { return is_meant(cluster, options.cluster); });
  if (options.format == ReportFormat::json) {
    fmt::print("{}\n", json_of(meant));
  } else {
    for (const ClusterView& cluster : meant)
      fmt::print("{}{}", &cluster == &meant.front() ? "" : "\n", text_of(cluster, options.peers));
  }
  if (meant.empty()) return fail(nothing_found(options.cluster, all));
  return std::all_of(meant.begin(), meant.end(), [](const ClusterView& cluster) { return cluster.all_answer(); }) ? 0
                                                                                                                  : 1;
}

int show_stack(const StackOptions& options) {
  const std::vector<ControlName> names = detail::control_names();
  std::vector<ClusterView> all = ask_around(names, Nodes::no, options.patience);
  // A node without a launcher has a cluster, too.
  for (const ControlName& name : names) {
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const ClusterView& cluster) { return cluster.id == name.cluster_id; });
    if (!known) all.push_back({name.cluster_id, name.cluster_id, {}, std::nullopt, {}, {}});
  }
  std::vector<ClusterView> meant;
  std::vector<ControlQuestion> questions;
  std::set<std::string> there;
  std::optional<NodeView> silent;  // it has no socket
  const auto ask_later = [&](const ClusterView& cluster, ControlQuestion question) {
    // Two clusters have one id if another user's process gives it to itself.
    if (std::ranges::count(questions, question.to, &ControlQuestion::to) > 0) return;
    meant.push_back(cluster);
    questions.push_back(std::move(question));
  };
  for (const ClusterView& cluster : all) {
    if (!is_meant(cluster, options.cluster)) continue;
    for (const ControlName& name : names) {
      if (name.cluster_id != cluster.id || name.is_launcher()) continue;
      there.insert(name.node);
      if (name.node != options.node) continue;
      ask_later(cluster, {name, "stack"});
    }
    for (const NodeView& node : cluster.nodes) {
      const ControlName own{cluster.id, node.name};
      if (std::find(names.begin(), names.end(), own) != names.end()) continue;
      there.insert(node.name);
      if (node.name != options.node) continue;
      if (node.host.empty()) {
        silent = node;
        continue;
      }
      ask_later(cluster, {{cluster.id, node.launcher}, fmt::format("ask {} stack", node.name)});
    }
  }
  if (there.empty()) return fail(nothing_found(options.cluster, all));
  std::vector<ControlAnswer> answers = ask(questions, options.patience);  // none of other users' processes
  if (answers.empty() && silent) {
    return fail(fmt::format("{}, pid {}: {}", options.node, silent->pid, detail::visible_line(silent->problem)));
  }
  if (questions.empty()) return fail(detail::no_such_node(options.node, there));
  if (answers.empty()) return fail(fmt::format("{} is of another user", options.node));
  keep_meant(answers, options.cluster);
  if (answers.size() > 1) {
    std::erase_if(meant, [&](const ClusterView& cluster) {
      return std::ranges::none_of(answers, [&](const auto& answer) { return answer.from.cluster_id == cluster.id; });
    });
    return fail(fmt::format("several clusters have a node \"{}\", name one of them: {}", options.node, list_of(meant)));
  }
  const ControlAnswer& answer = answers.front();
  if (!answer.ok()) return fail(fmt::format("{}, pid {}: {}", options.node, answer.pid, answer.problem));
  try {
    const StackReport report = parse_stack_report(answer.text);
    fmt::print("{}", options.format == ReportFormat::json ? json_of(report) + "\n" : text_of(report));
  } catch (const ReportError& error) {
    return fail(fmt::format("{}, pid {}: {}", options.node, answer.pid, detail::visible_line(error.what())));
  }
  return 0;
}

}  // namespace troupe
