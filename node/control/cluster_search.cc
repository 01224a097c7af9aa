#include "node/control/cluster_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "messages/did_you_mean.h"
#include "node/control/control_client.h"
#include "node/control/report_json.h"
#include "node/text_table.h"
#include "node/visible_text.h"

namespace troupe::detail {
namespace {

/// Returns the nodes of other hosts, which only their launchers reach, by the launchers' answers to "nodes".
std::vector<std::pair<ControlName, LaunchedNode>> nodes_elsewhere(const std::vector<ControlAnswer>& answers,
                                                                  const std::vector<ControlName>& here) {
  std::vector<std::pair<ControlName, LaunchedNode>> result;
  for (const ControlAnswer& answer : answers) {
    if (!answer.ok() || !answer.from.is_launcher()) continue;
    try {
      for (const LaunchedNode& node : parse_launch_report(answer.text).nodes) {
        const ControlName own{answer.from.cluster_id, node.name};
        if (node.host.empty() || !node.end.empty() || std::find(here.begin(), here.end(), own) != here.end()) continue;
        result.emplace_back(answer.from, node);
      }
    } catch (const ReportError&) {
      // views_of says what is wrong with it
    }
  }
  return result;
}

/// Asks nodes of other hosts by way of their launchers. The answers look like the nodes' own.
std::vector<ControlAnswer> ask_elsewhere(const std::vector<std::pair<ControlName, LaunchedNode>>& nodes,
                                         std::string_view question, std::chrono::milliseconds patience) {
  std::vector<ControlQuestion> questions;
  for (const auto& [launcher, node] : nodes)
    questions.push_back({launcher, fmt::format("ask {} {}", node.name, question), node.host});
  std::vector<ControlAnswer> answers = ask(questions, patience);
  if (answers.size() != nodes.size()) return {};  // a launcher is another user's
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    answers[i].from.node = nodes[i].second.name;
    answers[i].pid = nodes[i].second.pid;
  }
  return answers;
}

}  // namespace

std::vector<ClusterView> ask_around(const std::vector<ControlName>& names, Nodes nodes,
                                    std::chrono::milliseconds patience) {
  std::vector<ControlQuestion> questions;
  for (const ControlName& name : names) {
    if (name.is_launcher()) questions.push_back({name, "nodes"});
    else if (nodes == Nodes::yes) questions.push_back({name, "status"});
  }
  std::vector<ControlAnswer> answers = ask(questions, patience);
  if (nodes == Nodes::yes) {
    for (ControlAnswer& answer : ask_elsewhere(nodes_elsewhere(answers, names), "status", patience)) {
      answers.push_back(std::move(answer));
    }
  }
  return views_of(answers);
}

int fail(std::string_view why) {
  fmt::print(stderr, "troupe: {}\n", why);
  return 1;
}

std::string list_of(const std::vector<ClusterView>& clusters) {
  std::vector<std::string> names;
  for (const ClusterView& cluster : clusters) {
    const std::string silence = cluster.problem.empty() ? "" : fmt::format(", its launcher: {}", cluster.problem);
    names.push_back(visible_line(fmt::format("{} ({}{})", cluster.name, cluster.id, silence)));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string nothing_found(const std::string& wanted, const std::vector<ClusterView>& all) {
  if (all.empty()) return "no cluster of yours runs here";
  // One whose launcher does not answer has its id only: it may be the one that is meant.
  const bool all_answer = std::ranges::all_of(all, [](const ClusterView& each) { return each.problem.empty(); });
  const std::string what = wanted.empty()
                               ? "no cluster tells its nodes"
                               : fmt::format("no cluster \"{}\" {}", wanted, all_answer ? "runs here" : "answers here");
  return fmt::format("{}; there are: {}", what, list_of(all));
}

std::string no_such_node(const std::string& node, const std::set<std::string>& there) {
  const std::vector<std::string_view> known(there.begin(), there.end());
  return fmt::format("no node \"{}\" runs here{}; there are: {}", node, did_you_mean(node, known),
                     fmt::join(there, ", "));
}

std::optional<ClusterView> find_cluster(const std::vector<ClusterView>& all, const std::string& cluster,
                                        const std::string& node) {
  std::vector<ClusterView> meant;
  std::set<std::string> there;
  for (const ClusterView& each : all) {
    if (!is_meant(each, cluster)) continue;
    for (const NodeView& one : each.nodes) there.insert(one.name);
    if (node.empty() || std::ranges::count(each.nodes, node, &NodeView::name) > 0) meant.push_back(each);
  }
  const auto has_other_id = [&](const ClusterView& each) { return each.id != cluster; };
  if (!std::ranges::all_of(meant, has_other_id)) std::erase_if(meant, has_other_id);
  if (!std::ranges::all_of(meant, is_of_another_user)) std::erase_if(meant, is_of_another_user);
  if (meant.size() == 1) return std::move(meant.front());
  if (meant.size() > 1) {
    const std::string what = node.empty() ? "run here" : fmt::format("have a node \"{}\"", node);
    fail(fmt::format("several clusters {}, name one of them: {}", what, list_of(meant)));
  } else {
    fail(there.empty() ? nothing_found(cluster, all) : no_such_node(node, there));
  }
  return std::nullopt;
}

}  // namespace troupe::detail
