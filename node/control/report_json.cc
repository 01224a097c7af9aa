#include "node/control/report_json.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

namespace nlohmann {

template <>
struct adl_serializer<troupe::Duration> {
  static void to_json(json& value, const troupe::Duration& time) {
    value = std::chrono::duration<double>(time).count();
  }
  static void from_json(const json& value, troupe::Duration& time) {
    using std::chrono::microseconds;
    constexpr auto kLongest = std::chrono::floor<microseconds>(troupe::Duration::max());
    const auto seconds = value.get<double>();
    if (!(std::abs(seconds) <= std::chrono::duration<double>(troupe::Duration::max()).count()))
      throw std::invalid_argument("a time that cannot be");
    time = std::clamp(microseconds(std::llround(seconds * 1e6)), -kLongest, kLongest);  // the text may be rounded up
  }
};

template <class T>
struct adl_serializer<std::optional<T>> {
  static void to_json(json& value, const std::optional<T>& wanted) {
    if (wanted) value = *wanted;
    else value = nullptr;
  }
  static void from_json(const json& value, std::optional<T>& read) {
    if (value.is_null()) read.reset();
    else read = value.get<T>();
  }
};

}  // namespace nlohmann

namespace troupe {

// Enumerators and structs in one list each: the keys of the JSON are the names of the fields.
NLOHMANN_JSON_SERIALIZE_ENUM(UseState, {{UseState::has_turn, "has_turn"},
                                        {UseState::waits_elsewhere, "waits_elsewhere"},
                                        {UseState::returning, "returning"},
                                        {UseState::arriving, "arriving"},
                                        {UseState::early, "early"}})
NLOHMANN_JSON_SERIALIZE_ENUM(NodePhase, {{NodePhase::joining, "joining"},
                                         {NodePhase::up, "up"},
                                         {NodePhase::serving, "serving"},
                                         {NodePhase::leaving, "leaving"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerInfo, name, rank)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PeerTraffic, calls_sent, calls_received, bytes_sent, bytes_received, packets_damaged)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PeerHoldings, waiting_calls, waiting_bytes, queued_calls, answer_bytes, owners,
                                   forks, contexts, shards)
// With defaults: nodes of an older version send no gpu_bytes.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(SharedMemoryUse, peers, rings, segments, bytes, idle_bytes, kept_bytes,
                                                gpu_bytes, leases, tensors, bytes_copied, bytes_avoided, ring_packets,
                                                refused)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StreamUse, out_streams, in_streams, encrypted, packets_sent, packets_received,
                                   dropped, refused)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PeerTransport, way, why)

/// What reports of all versions have.
struct OldestCounts : DebugInfo {};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OldestCounts, node, owners, handles, forks, pending_users, pending_calls,
                                   waiting_calls, served_calls, contexts, backward_passes, shards, pool_threads,
                                   threads_busy, threads_waiting, threads_idle, unreachable, peers, traffic,
                                   shared_memory, streams)

void to_json(nlohmann::json& value, const DebugInfo& counts) {
  value = OldestCounts{counts};
  value["transports"] = counts.transports;
}

void from_json(const nlohmann::json& value, DebugInfo& counts) {
  counts = value.get<OldestCounts>();
  counts.transports = value.value("transports", DebugInfo().transports);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WaitingCall, operation, peer, age, left, site)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ServedFunction, operation, caller, age)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ValueUser, what, state, age)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ValueInUse, value, users)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OpenContext, context, peers, passes, sends, age)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OpenBarrier, operation, waiting, missing)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BusyThread, job, age, waiting)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StackInfo, counts, calls, served, values, contexts, barriers, threads, silent)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeReport, phase, rank, age, members, counts)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StackReport, node, stack)

void to_json(nlohmann::json& value, const LaunchedNode& node) {
  value = {
      {"name", node.name}, {"pid", node.pid}, {"end", node.end}, {"host", node.host}, {"lost_lines", node.lost_lines}};
}

void from_json(const nlohmann::json& value, LaunchedNode& node) {
  value.at("name").get_to(node.name);
  value.at("pid").get_to(node.pid);
  value.at("end").get_to(node.end);
  value.at("host").get_to(node.host);
  node.lost_lines = value.value("lost_lines", LaunchedNode().lost_lines);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LaunchReport, cluster, file, age, nodes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LogLine, node, place, is_error, text)

void to_json(nlohmann::json& value, const LogReport& report) {
  value = {{"next", report.next},
           {"end", report.end},
           {"more", report.more},
           {"over", report.over},
           {"lines", report.lines}};
}

void from_json(const nlohmann::json& value, LogReport& report) {
  value.at("next").get_to(report.next);
  report.end = value.value("end", LogReport().end);
  value.at("more").get_to(report.more);
  value.at("over").get_to(report.over);
  value.at("lines").get_to(report.lines);
}

namespace {

using nlohmann::json;

/// Names of functions and lines of output come from user code: invalid UTF-8 is replaced.
std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

template <class Report>
Report parse(std::string_view text) {
  try {
    const json value = json::parse(text);
    if (value.is_object() && value.contains("error")) throw ReportError(value.at("error").get<std::string>());
    return value.get<Report>();
  } catch (const ReportError&) {
    throw;
  } catch (const std::exception& error) {
    throw ReportError(std::string("its answer makes no sense: ") + error.what());
  }
}

}  // namespace

std::string json_of(const NodeReport& report) { return text_of(report); }
std::string json_of(const StackReport& report) { return text_of(report); }
std::string json_of(const LaunchReport& report) { return text_of(report); }
std::string json_of(const LaunchedNode& node) { return text_of(node); }
std::string json_of(const LogReport& report) { return text_of(report); }
std::string json_of_error(std::string_view why) { return text_of({{"error", why}}); }

NodeReport parse_node_report(std::string_view text) { return parse<NodeReport>(text); }
StackReport parse_stack_report(std::string_view text) { return parse<StackReport>(text); }
LaunchedNode parse_launched_node(std::string_view text) { return parse<LaunchedNode>(text); }
LaunchReport parse_launch_report(std::string_view text) { return parse<LaunchReport>(text); }
LogReport parse_log_report(std::string_view text) { return parse<LogReport>(text); }

}  // namespace troupe
