#include "node/control/status_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "node/control/report_json.h"
#include "node/text_table.h"
#include "node/visible_text.h"

namespace troupe {
namespace {

using detail::kRight;
using detail::shown;
using detail::shown_bytes;
using detail::TextTable;
using detail::visible_line;
using nlohmann::json;

constexpr std::size_t kPeersShown = 8;  // of one node, unless all are requested

/// The answers about one cluster.
struct Parts {
  std::vector<ControlAnswer> launchers;
  std::map<NodeName, ControlAnswer> nodes;
};

NodeView view_of(const NodeName& name, const ControlAnswer& answer) {
  NodeView view{name, answer.pid, std::nullopt, "", answer.problem, std::nullopt};
  if (!answer.ok()) return view;
  try {
    view.report = parse_node_report(answer.text);
    view.rank = view.report->rank;
  } catch (const ReportError& error) {
    view.problem = error.what();
  }
  return view;
}

NodeView view_of(const LaunchedNode& launched) {
  return {launched.name,
          launched.pid,
          std::nullopt,
          launched.host,
          launched.end.empty() ? "runs, and is no node yet" : "ended: " + launched.end,
          std::nullopt};
}

ClusterView assemble(const std::string& id, uid_t user, Parts parts) {
  ClusterView cluster{id, id, {}, std::nullopt, {}, {}, user};
  std::set<NodeName> seen;
  const auto add = [&](NodeView view) {
    if (seen.insert(view.name).second) cluster.nodes.push_back(std::move(view));
  };
  for (const ControlAnswer& launcher : parts.launchers) {
    cluster.launchers.push_back(launcher.from.node);
    if (!launcher.ok()) {
      cluster.problem = launcher.problem;
      continue;
    }
    try {
      const LaunchReport launch = parse_launch_report(launcher.text);
      cluster.name = launch.cluster;
      cluster.file = launch.file;
      cluster.age = launch.age;
      std::uint32_t rank = 0;
      for (const LaunchedNode& launched : launch.nodes) {
        const auto answer = parts.nodes.find(launched.name);
        const bool speaks = launched.end.empty() && answer != parts.nodes.end();
        NodeView view = speaks ? view_of(launched.name, answer->second) : view_of(launched);
        if (view.problem == OpenQuestion::kNobody) view = view_of(launched);  // asked by the agent of its host
        if (view.pid == 0) view.pid = launched.pid;
        if (launcher.from.node.empty()) view.rank = rank++;  // that of a part knows the order of its own only
        view.host = launched.host;
        view.launcher = launcher.from.node;
        view.lost_lines = launched.lost_lines;
        add(std::move(view));
      }
    } catch (const ReportError& error) {
      cluster.problem = error.what();
    }
  }
  for (const auto& [name, answer] : parts.nodes) add(view_of(name, answer));
  std::map<NodeName, NodeName> hearsay;  // nodes that others report as up; value: the reporting node
  for (const NodeView& view : cluster.nodes) {
    if (!view.report) continue;
    for (const NodeName& member : view.report->members) hearsay.emplace(member, view.name);
  }
  for (const auto& [name, witness] : hearsay)
    add({name, 0, std::nullopt, "", fmt::format("cannot be asked from here; {} sees it up", witness), std::nullopt});
  return cluster;
}

std::string text_of(NodePhase phase) {
  switch (phase) {
    case NodePhase::joining: return "joining";
    case NodePhase::up: return "up";
    case NodePhase::serving: return "serving";
    case NodePhase::leaving: return "leaving";
  }
  return "";
}

/// Returns "serving (has not heard ps1 for 4.2 s, ps2 for 3.1 s)".
std::string state_of(const NodeReport& report) {
  std::vector<std::string> silent;
  for (const auto& [peer, silence] : report.counts.unreachable) {
    silent.push_back(fmt::format("{} for {}", visible_line(peer), shown(silence)));
  }
  const std::string phase = text_of(report.phase);
  return silent.empty() ? phase : fmt::format("{} (has not heard {})", phase, fmt::join(silent, ", "));
}

std::string text_of(std::uint64_t number) { return std::to_string(number); }

PeerTraffic total(const DebugInfo& counts) {
  PeerTraffic sum;
  if (!counts.traffic) return sum;
  for (const auto& [peer, traffic] : *counts.traffic) {
    sum.bytes_sent += traffic.bytes_sent;
    sum.bytes_received += traffic.bytes_received;
  }
  return sum;
}

TextTable node_table(const ClusterView& cluster) {
  const bool has_hosts =
      std::any_of(cluster.nodes.begin(), cluster.nodes.end(), [](const NodeView& node) { return !node.host.empty(); });
  const bool has_losses = std::ranges::any_of(cluster.nodes, [](const NodeView& node) { return node.lost_lines > 0; });
  TextTable table({{"NODE"},
                   {has_hosts ? "HOST" : ""},
                   {"RANK", kRight},
                   {"PID", kRight},
                   {has_losses ? "LINES LOST" : "", kRight},
                   {"STATE"},
                   {"UP", kRight},
                   {"OWNERS", kRight},
                   {"HANDLES", kRight},
                   {"FORKS", kRight},
                   {"CALLS", kRight},
                   {"WAITING", kRight},
                   {"SERVED", kRight},
                   {"CONTEXTS", kRight},
                   {"THREADS", kRight},
                   {"SENT", kRight},
                   {"RECEIVED", kRight}});
  for (const NodeView& node : cluster.nodes) {
    const std::string rank = node.rank ? std::to_string(*node.rank) : "";
    const std::string pid = node.pid > 0 ? std::to_string(node.pid) : "";
    const std::string lost = node.lost_lines > 0 ? text_of(node.lost_lines) : "";
    if (!node.report) {
      table.add({visible_line(node.name), visible_line(node.host), rank, pid, lost, visible_line(node.problem)});
      continue;
    }
    const DebugInfo& counts = node.report->counts;
    const PeerTraffic traffic = total(counts);
    table.add({visible_line(node.name), visible_line(node.host), rank, pid, lost, state_of(*node.report),
               shown(node.report->age), text_of(counts.owners), text_of(counts.handles), text_of(counts.forks),
               text_of(counts.pending_calls), text_of(counts.waiting_calls), text_of(counts.served_calls),
               text_of(counts.contexts),
               fmt::format("{}/{}/{}", counts.threads_busy, counts.threads_waiting, counts.threads_idle),
               counts.traffic ? shown_bytes(traffic.bytes_sent) : "",
               counts.traffic ? shown_bytes(traffic.bytes_received) : ""});
  }
  return table;
}

/// The rows of one node: the first has its name.
template <class Row>
void add_rows(TextTable& table, const NodeView& node, std::size_t all, PeersShown shown_peers, Row row) {
  const std::size_t count = shown_peers == PeersShown::all ? all : std::min(all, kPeersShown);
  for (std::size_t i = 0; i < count; ++i) row(i, i == 0 ? visible_line(node.name) : "");
  if (count < all) table.add({"", fmt::format("and {} more: --peers shows all", all - count)});
}

/// Returns the pending and kept items on each node, by peer: first those with the most bytes, of equal ones those with
/// the most items. Peers without any are omitted.
TextTable holdings_table(const ClusterView& cluster, PeersShown shown_peers) {
  TextTable table({{"NODE"},
                   {"PEER"},
                   {"WAITING", kRight},
                   {"BYTES", kRight},
                   {"QUEUED", kRight},
                   {"ANSWERS", kRight},
                   {"OWNERS", kRight},
                   {"FORKS", kRight},
                   {"CONTEXTS", kRight},
                   {"SHARDS", kRight}});
  for (const NodeView& node : cluster.nodes) {
    if (!node.report) continue;
    const auto& all = node.report->counts.peers;
    std::vector<std::pair<NodeName, PeerHoldings>> peers(all.begin(), all.end());
    const auto weight = [](const PeerHoldings& of) {
      return std::pair(of.waiting_bytes + of.answer_bytes,
                       of.waiting_calls + of.queued_calls + of.owners + of.forks + of.contexts + of.shards);
    };
    std::stable_sort(peers.begin(), peers.end(),
                     [&](const auto& a, const auto& b) { return weight(a.second) > weight(b.second); });
    add_rows(table, node, peers.size(), shown_peers, [&](std::size_t i, const std::string& name) {
      const PeerHoldings& of = peers[i].second;
      table.add({name, visible_line(peers[i].first), text_of(of.waiting_calls), shown_bytes(of.waiting_bytes),
                 text_of(of.queued_calls), shown_bytes(of.answer_bytes), text_of(of.owners), text_of(of.forks),
                 text_of(of.contexts), text_of(of.shards)});
    });
  }
  return table;
}

/// What a node says of its messages to and from one peer.
struct PeerMessages {
  std::optional<PeerTraffic> traffic;  ///< nullopt: not measured
  std::string transport;               ///< empty: the only one
};

/// Returns the traffic of each node with its peers, and how it travels: first those with the most bytes.
TextTable traffic_table(const ClusterView& cluster, PeersShown shown_peers) {
  const bool has_transports = std::ranges::any_of(
      cluster.nodes, [](const NodeView& node) { return node.report && !node.report->counts.transports.empty(); });
  TextTable table({{"NODE"},
                   {"PEER"},
                   {"CALLS SENT", kRight},
                   {"RECEIVED", kRight},
                   {"BYTES SENT", kRight},
                   {"RECEIVED", kRight},
                   {has_transports ? "TRANSPORT" : ""}});
  for (const NodeView& node : cluster.nodes) {
    if (!node.report) continue;
    std::map<NodeName, PeerMessages> all;
    if (const auto& measured = node.report->counts.traffic)
      for (const auto& [peer, traffic] : *measured) all[peer].traffic = traffic;
    for (const auto& [peer, transport] : node.report->counts.transports)
      all[peer].transport = visible_line(transport.text());
    std::vector<std::pair<NodeName, PeerMessages>> peers(all.begin(), all.end());
    const auto bytes = [](const auto& peer) {
      const PeerTraffic traffic = peer.second.traffic.value_or(PeerTraffic());
      return traffic.bytes_sent + traffic.bytes_received;
    };
    std::stable_sort(peers.begin(), peers.end(), [&](const auto& a, const auto& b) { return bytes(a) > bytes(b); });
    add_rows(table, node, peers.size(), shown_peers, [&](std::size_t i, const std::string& name) {
      const auto& [peer, messages] = peers[i];
      std::vector<std::string> row{name, visible_line(peer)};
      if (const auto& traffic = messages.traffic) {
        row.insert(row.end(), {text_of(traffic->calls_sent), text_of(traffic->calls_received),
                               shown_bytes(traffic->bytes_sent), shown_bytes(traffic->bytes_received)});
      }
      row.resize(6);
      row.push_back(messages.transport);
      table.add(std::move(row));
    });
  }
  return table;
}

/// Returns the memory that nodes share with peers on their host; nodes that have shared nothing are omitted.
TextTable shared_table(const ClusterView& cluster) {
  TextTable table({{"NODE"},
                   {"RINGS", kRight},
                   {"PACKETS", kRight},
                   {"SHARED MEMORY", kRight},
                   {"IDLE", kRight},
                   {"KEPT", kRight},
                   {"GPU MEMORY", kRight},
                   {"SEGMENTS", kRight},
                   {"LEASES", kRight},
                   {"TENSORS", kRight},
                   {"COPIED", kRight},
                   {"NOT COPIED", kRight}});
  for (const NodeView& node : cluster.nodes) {
    if (!node.report || !node.report->counts.shared_memory) continue;
    const SharedMemoryUse& use = *node.report->counts.shared_memory;
    if (use.tensors == 0 && use.ring_packets == 0) continue;
    table.add({visible_line(node.name), text_of(use.rings), text_of(use.ring_packets), shown_bytes(use.bytes),
               shown_bytes(use.idle_bytes), shown_bytes(use.kept_bytes), shown_bytes(use.gpu_bytes),
               text_of(use.segments), text_of(use.leases), text_of(use.tensors), shown_bytes(use.bytes_copied),
               shown_bytes(use.bytes_avoided)});
  }
  return table;
}

/// Returns the connections for large messages alone; nodes that have sent and received none are omitted.
TextTable streams_table(const ClusterView& cluster) {
  TextTable table({{"NODE"},
                   {"STREAMS OUT", kRight},
                   {"IN", kRight},
                   {"ENCRYPTED"},
                   {"PACKETS SENT", kRight},
                   {"RECEIVED", kRight},
                   {"DROPPED", kRight},
                   {"REFUSED", kRight}});
  for (const NodeView& node : cluster.nodes) {
    if (!node.report || !node.report->counts.streams) continue;
    const StreamUse& use = *node.report->counts.streams;
    if (use == StreamUse{.encrypted = use.encrypted}) continue;
    table.add({visible_line(node.name), text_of(use.out_streams), text_of(use.in_streams), use.encrypted ? "yes" : "no",
               text_of(use.packets_sent), text_of(use.packets_received), text_of(use.dropped), text_of(use.refused)});
  }
  return table;
}

}  // namespace

bool is_of_another_user(const ClusterView& cluster) {
  return cluster.user != detail::ControlPeer{}.user && cluster.user != ::geteuid();
}

bool ClusterView::all_answer() const {
  return problem.empty() &&
         std::all_of(nodes.begin(), nodes.end(), [](const NodeView& node) { return node.report.has_value(); });
}

std::vector<ClusterView> views_of(const std::vector<ControlAnswer>& answers) {
  constexpr uid_t kUnknown = detail::ControlPeer{}.user;
  std::map<std::string, std::set<uid_t>> users;
  for (const ControlAnswer& answer : answers) {
    if (answer.user != kUnknown) users[answer.from.cluster_id].insert(answer.user);
  }
  std::map<std::pair<std::string, uid_t>, Parts> clusters;
  for (const ControlAnswer& answer : answers) {
    const auto known = users.find(answer.from.cluster_id);
    const bool is_clear = answer.user == kUnknown && known != users.end() && known->second.size() == 1;
    Parts& parts = clusters[{answer.from.cluster_id, is_clear ? *known->second.begin() : answer.user}];
    if (answer.from.is_launcher()) parts.launchers.push_back(answer);
    else parts.nodes.emplace(answer.from.node, answer);
  }
  std::vector<ClusterView> views;
  for (auto& [key, parts] : clusters) views.push_back(assemble(key.first, key.second, std::move(parts)));
  return views;
}

bool is_meant(const ClusterView& cluster, std::string_view word) {
  if (word.empty() || word == cluster.name || cluster.id.starts_with(word)) return true;
  std::error_code ignored;
  return !cluster.file.empty() && std::filesystem::equivalent(cluster.file, word, ignored);
}

std::string text_of(const ClusterView& cluster, PeersShown peers) {
  std::string text = visible_line(cluster.name);
  if (cluster.name != cluster.id) text += fmt::format(" ({})", cluster.id);
  if (is_of_another_user(cluster)) text += fmt::format(", of user {}", cluster.user);
  if (!cluster.file.empty()) text += fmt::format(", {}", visible_line(cluster.file));
  if (cluster.age) text += fmt::format(", started {} ago", shown(*cluster.age));
  text += "\n";
  if (!cluster.problem.empty()) text += fmt::format("its launcher: {}\n", visible_line(cluster.problem));
  if (cluster.nodes.empty()) return text;
  text += node_table(cluster).text();
  if (const TextTable holdings = holdings_table(cluster, peers); !holdings.empty()) text += "\n" + holdings.text();
  if (const TextTable traffic = traffic_table(cluster, peers); !traffic.empty()) text += "\n" + traffic.text();
  if (const TextTable shared = shared_table(cluster); !shared.empty()) text += "\n" + shared.text();
  if (const TextTable streams = streams_table(cluster); !streams.empty()) text += "\n" + streams.text();
  return text;
}

std::string json_of(const std::vector<ClusterView>& clusters) {
  json all = json::array();
  for (const ClusterView& cluster : clusters) {
    json nodes = json::array();
    for (const NodeView& node : cluster.nodes) {
      json one{{"name", node.name}, {"pid", node.pid}};
      if (!node.host.empty()) one["host"] = node.host;
      if (node.lost_lines > 0) one["lost_lines"] = node.lost_lines;
      one["rank"] = node.rank ? json(*node.rank) : json(nullptr);
      if (node.report) one["report"] = json::parse(json_of(*node.report));
      else one["problem"] = node.problem;
      nodes.push_back(std::move(one));
    }
    json one{{"id", cluster.id}, {"name", cluster.name}, {"file", cluster.file}, {"nodes", std::move(nodes)}};
    if (is_of_another_user(cluster)) one["user"] = cluster.user;
    one["age"] = cluster.age ? json(std::chrono::duration<double>(*cluster.age).count()) : json(nullptr);
    if (!cluster.problem.empty()) one["problem"] = cluster.problem;
    all.push_back(std::move(one));
  }
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace troupe
