// Rules about what a file reaches through its includes.
#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>

#include "tests/tidy_rules.h"
#include "tests/tidy_text.h"

namespace tidy {
namespace {

/// Rooms whose headers users include.
constexpr std::array<std::string_view, 9> kRoomsOfUsers{"actors/checkpoint/", "actors/data/",    "actors/embedding/",
                                                        "actors/modules/",    "actors/profile/", "autograd/nn/",
                                                        "autograd/ops/",      "tensor/io/",      "tensor/ops/"};

/// Names the roots: the headers that are installed, with all that they include.
constexpr std::string_view kInstalledRoots = "cmake/TroupeInstall.cmake";

/// The internal headers that a root reaches, since its templates and its options say what is in them. Every root may
/// reach what is listed for troupe.h, too.
const std::map<std::string_view, std::vector<std::string_view>>& internals_reached() {
  static const std::map<std::string_view, std::vector<std::string_view>> table{
      {"troupe.h",
       {"actors/calls/call_encoder.h",
        "actors/calls/call_grants.h",
        "actors/calls/callee.h",
        "actors/calls/payload_io.h",
        "actors/calls/registered_function.h",
        "actors/calls/scope_state.h",
        "actors/calls/stream_source.h",
        "actors/calls/value_box.h",
        "actors/calls/variable_wire.h",
        "actors/collectives/gathered.h",
        "actors/contexts/unused_boundary.h",
        "actors/core/reports.h",
        "actors/core/type_name.h",
        "actors/core/wait_point.h",
        "actors/parallel/data_parallel_options.h",
        "actors/references/cached_value.h",
        "actors/references/naming.h",
        "actors/references/rref_handle.h",
        "actors/sessions/peer_limits.h",
        "actors/sessions/silence_limits.h",
        "actors/shards/shared_optimizer.h",
        "actors/shards/step_options.h",
        "actors/shards/step_outcome.h",
        "node/keys/key_pair.h",
        "node/keys/key_ring.h",
        "node/keys/locked_bytes.h",
        "node/links/memory_link.h",
        "node/links/secret.h",
        "node/links/tcp_place.h",
        "node/links/transports.h",
        "tensor/kernels/convolution.h",
        "tensor/kernels/order.h",
        "tensor/kernels/recurrent.h",
        "tensor/kernels/search.h"}},
      {"actors/pipeline.h",
       {"actors/contexts/gradient_reducer.h", "actors/pipeline/balance.h", "actors/pipeline/chunk_plan.h",
        "actors/pipeline/connections.h", "actors/pipeline/loss_round.h", "actors/pipeline/pieces.h",
        "actors/pipeline/pipeline_core.h", "actors/pipeline/pipeline_options.h", "actors/pipeline/schedule.h",
        "actors/pipeline/split_inputs.h", "actors/pipeline/stage_class.h", "actors/pipeline/stage_gate.h",
        "actors/pipeline/stage_link.h", "actors/pipeline/stage_seat.h", "actors/pipeline/stage_task.h",
        "actors/pipeline/stage_work.h"}},
      {"node/environment.h", {"node/config/settings.h"}},
      {"node/sim/world.h",
       {"actors/calls/device_maps.h",
        "actors/calls/exception_types.h",
        "actors/calls/function_table.h",
        "actors/calls/listed_grants.h",
        "actors/calls/retry_budget.h",
        "actors/calls/served_calls.h",
        "actors/calls/waiting_calls.h",
        "actors/core/assert.h",
        "actors/core/gate.h",
        "actors/core/id_secrets.h",
        "actors/core/lives.h",
        "actors/core/node_core.h",
        "actors/core/promise_guard.h",
        "actors/core/query.h",
        "actors/core/request.h",
        "actors/sessions/call_credit.h",
        "actors/sessions/call_table.h",
        "actors/sessions/failure_detector.h",
        "actors/sessions/parcel.h",
        "actors/sessions/silences.h",
        "actors/sessions/traffic.h",
        "node/sim/faults.h",
        "node/sim/node_killed.h"}},
  };
  return table;
}

/// The folders of libraries, beside the standard one and cereal, that a root shows: its users have them installed.
const std::map<std::string_view, std::vector<std::string_view>>& libraries_reached() {
  static const std::map<std::string_view, std::vector<std::string_view>> table{{"tensor/format.h", {"fmt/"}},
                                                                               {"autograd/format.h", {"fmt/"}}};
  return table;
}

/// Rooms of a knot, at most.
const std::map<std::string_view, std::size_t>& knots_max() {
  static const std::map<std::string_view, std::size_t> table{{"tensor", 7},   {"autograd", 6}, {"optim", 7},
                                                             {"messages", 7}, {"actors", 4},   {"node", 5},
                                                             {"samples", 7},  {"tests", 7}};
  return table;
}

/// An include, and the file that it stands in.
struct Reached {
  const File* from;
  Include include;
};

/// What `header`, which is in the tree, includes, directly or not: each quoted header once, all others as often as they
/// are included.
std::vector<Reached> reached_from(const std::vector<File>& tree, const std::string& header) {
  std::map<std::string_view, const File*> files;
  for (const File& file : tree) files.emplace(file.path, &file);
  std::vector<Reached> reached;
  std::deque<std::string> waiting{header};
  std::set<std::string> seen{header};
  while (!waiting.empty()) {
    const auto found = files.find(waiting.front());
    waiting.pop_front();
    if (found == files.end()) continue;
    for (const Include& include : includes_of(*found->second)) {
      if (include.quoted && !seen.insert(include.name).second) continue;
      if (include.quoted) waiting.push_back(include.name);
      reached.push_back({found->second, include});
    }
  }
  return reached;
}

bool is_in(const std::vector<File>& tree, const std::string& path) {
  return std::ranges::count(tree, path, &File::path) > 0;
}

/// A header in a room of a folder, save those rooms that users open.
bool is_internal(const std::string& path) {
  const bool is_on_a_floor = std::ranges::count(path, '/') < 2;
  return !is_on_a_floor &&
         std::ranges::none_of(kRoomsOfUsers, [&](std::string_view room) { return path.starts_with(room); });
}

/// Returns the headers that are installed with all that they include. Adds a finding if the list is not found.
std::set<std::string> installed_roots(const std::vector<File>& tree, Findings& findings) {
  const auto install = std::ranges::find(tree, kInstalledRoots, &File::path);
  constexpr std::string_view kBefore = "set(roots ";
  const std::size_t at = install == tree.end() ? std::string::npos : install->text.find(kBefore);
  if (at == std::string::npos) {
    findings.push_back({std::string(kInstalledRoots), 0, "names no roots: \"set(roots ...)\""});
    return {};
  }
  const std::size_t begin = at + kBefore.size();
  std::istringstream names(install->text.substr(begin, install->text.find(')', begin) - begin));
  return {std::istream_iterator<std::string>(names), {}};
}

}  // namespace

Findings check_public(const std::vector<File>& tree, const std::string& header) {
  if (!is_in(tree, header)) return {{header, 0, "is not there"}};
  Findings findings;
  const auto shown = libraries_reached().find(header);
  for (const auto& [from, include] : reached_from(tree, header)) {
    const bool standard = include.name.find_first_of("./") == std::string::npos;
    if (include.quoted || standard || include.name.starts_with("cereal/")) continue;
    if (shown != libraries_reached().end() &&
        std::ranges::any_of(shown->second, [&](std::string_view library) { return include.name.starts_with(library); }))
      continue;
    findings.push_back({from->path, include.line, header + " reaches " + include.name});
  }
  return findings;
}

Findings check_internals(const std::vector<File>& tree, const std::string& header) {
  if (!is_in(tree, header)) return {{header, 0, "is not there"}};
  Findings findings;
  std::set<std::string_view> listed;
  if (const auto own = internals_reached().find(header); own != internals_reached().end())
    listed.insert(own->second.begin(), own->second.end());
  const std::vector<std::string_view>& of_troupe = internals_reached().at("troupe.h");
  for (const auto& [from, include] : reached_from(tree, header)) {
    if (!include.quoted || !is_internal(include.name) || listed.erase(include.name) > 0) continue;
    if (header != "troupe.h" && std::ranges::find(of_troupe, include.name) != of_troupe.end()) continue;
    findings.push_back({from->path, include.line, header + " reaches " + include.name + ", which is internal"});
  }
  for (const std::string_view unused : listed)
    findings.push_back({header, 0, "does not reach " + std::string(unused) + ": strike it off the list of internals"});
  return findings;
}

Findings check_roots(const std::vector<File>& tree) {
  Findings findings;
  const std::set<std::string> roots = installed_roots(tree, findings);
  if (roots.empty()) return findings;
  for (const std::string& root : roots) {
    std::ranges::move(check_public(tree, root), std::back_inserter(findings));
    std::ranges::move(check_internals(tree, root), std::back_inserter(findings));
  }
  const auto strike = [&](std::string_view root) {
    if (!roots.contains(std::string(root)))
      findings.push_back({std::string(kInstalledRoots), 0, "installs no " + std::string(root) + ": strike its list"});
  };
  for (const auto& [root, internals] : internals_reached()) strike(root);
  for (const auto& [root, libraries] : libraries_reached()) strike(root);
  return findings;
}

Findings check_installed(const std::vector<File>& tree) {
  Findings findings;
  std::set<std::string> installed = installed_roots(tree, findings);
  if (installed.empty()) return findings;
  for (const std::string& root : std::set(installed)) {
    for (const auto& [from, include] : reached_from(tree, root)) installed.insert(include.name);
  }
  for (const File& file : tree) {
    if (!file.path.starts_with("samples/") || !is_code(file.path)) continue;
    for (const Include& include : includes_of(file)) {
      if (!include.quoted || include.name.starts_with("samples/") || installed.contains(include.name)) continue;
      findings.push_back({file.path, include.line, "includes " + include.name + ", which is not installed"});
    }
  }
  return findings;
}

Findings check_knots(const std::vector<File>& tree) {
  const auto room_of = [](std::string_view path) { return std::string(path.substr(0, path.rfind('.'))); };
  std::map<std::string, std::size_t> rooms;
  for (const File& file : tree) {
    if (is_code(file.path) && knots_max().contains(folder_of(file.path)))
      rooms.try_emplace(room_of(file.path), rooms.size());
  }
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> includes(rooms.size());
  for (const File& file : tree) {
    const auto from = rooms.find(room_of(file.path));
    if (from == rooms.end() || !is_code(file.path)) continue;
    for (const Include& include : includes_of(file)) {
      const auto to = rooms.find(room_of(include.name));
      if (to != rooms.end() && to != from) add_edge(from->second, to->second, includes);
    }
  }
  std::vector<std::size_t> knot_of(rooms.size());
  strong_components(includes, boost::make_iterator_property_map(knot_of.begin(), get(boost::vertex_index, includes)));
  std::map<std::size_t, std::vector<std::string_view>> knots;  // in the order of names
  for (const auto& [room, number] : rooms) knots[knot_of[number]].push_back(room);
  Findings findings;
  for (const auto& [number, knot] : knots) {
    const std::size_t most = knots_max().at(folder_of(knot.front()));
    if (knot.size() <= most) continue;
    std::string what = std::to_string(knot.size()) + " rooms include each other in a circle, at most " +
                       std::to_string(most) + " may:";
    for (const std::string_view room : knot) what.append(" ").append(room);
    findings.push_back({std::string(knot.front()), 0, what});
  }
  return findings;
}

}  // namespace tidy
