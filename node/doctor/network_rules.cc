#include "node/doctor/network_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace troupe::detail {
namespace {

constexpr std::size_t kNamesMax = 8;  // in one line

/// Returns "[fd77::1]:29500", "10.0.0.1:29500".
std::string place_text(const std::string& address, int port) {
  return address.find(':') == std::string::npos ? fmt::format("{}:{}", address, port)
                                                : fmt::format("[{}]:{}", address, port);
}

std::string outcome_text(const ReachEnd& end) {
  switch (end.outcome) {
    case ReachOutcome::untried: return "was not tried";
    case ReachOutcome::reached: return "works";
    case ReachOutcome::timed_out: return "no answer";
    case ReachOutcome::refused: return "refused";
    case ReachOutcome::no_route: return "no way there: " + end.text;
    case ReachOutcome::stranger: return "another program answers";
    case ReachOutcome::failed: return end.text;
  }
  return {};
}

std::string let_through(const TriedWay& way, std::string_view protocol) {
  return fmt::format(
      "let {} to {} from {} through at {}{}", protocol,
      way.ports.empty() ? "any port (or to those of cluster.ports, if that is set)" : "ports " + way.ports,
      way.way.from.empty() ? way.from : way.way.from, way.to,
      protocol == "udp" ? ": heartbeats need it, and without them nodes count as unreachable" : "");
}

std::string hint_for_tcp(const TriedWay& way) {
  const std::string own = fmt::format("set host.address of {} to another of its addresses or interfaces", way.to);
  switch (way.way.tcp.outcome) {
    case ReachOutcome::timed_out:
      return fmt::format("{}: {}; or {}",
                         way.back_works ? "a firewall, or address translation, lets only the other direction through"
                                        : "a firewall, or no way between the two networks",
                         let_through(way, "tcp and udp"), own);
    case ReachOutcome::refused:
      return fmt::format("a firewall refuses it: {}; or {} is the address of another machine there: {}",
                         let_through(way, "tcp and udp"), way.where.address, own);
    case ReachOutcome::no_route:
      return fmt::format("{} has no way to the network of {}, or a firewall refuses it: {}", way.from,
                         way.where.address, own);
    case ReachOutcome::stranger:
      return fmt::format("in the network of {}, {} is another machine, or something between answers for it: {}",
                         way.from, way.where.address, own);
    default: return own;
  }
}

Finding failed(Mark mark, const TriedWay& way, std::string_view protocol, int port, const ReachEnd& end,
               std::string hint) {
  const std::string from = way.way.from.empty() ? "" : fmt::format(" ({})", way.way.from);
  return {mark, "network",
          fmt::format("{}{} does not reach {} ({}) by {}: {}", way.from, from, way.to,
                      place_text(way.where.address, port), protocol, outcome_text(end)),
          std::move(hint)};
}

bool works(const ReachEnd& end) { return end.outcome == ReachOutcome::reached; }

/// Appends what is wrong with one way. Without tcp nothing else is said.
void add_failures(const TriedWay& way, std::vector<Finding>& findings) {
  const HostWay& ends = way.way;
  if (!works(ends.tcp)) {
    findings.push_back(failed(Mark::problem, way, "tcp", way.where.port, ends.tcp, hint_for_tcp(way)));
    return;
  }
  if (way.where.udp && !works(ends.udp)) {
    findings.push_back(failed(Mark::problem, way, "udp", way.where.port, ends.udp, let_through(way, "udp")));
  }
  if (way.where.stream_port != 0 && !works(ends.stream)) {
    findings.push_back(
        failed(Mark::warning, way, "tcp", way.where.stream_port, ends.stream,
               "large messages then share the connection of small ones, which is slower: let cluster.stream_ports "
               "through"));
  }
}

}  // namespace

std::vector<Finding> judge_ways(std::span<const TriedWay> ways) {
  std::vector<Finding> findings;
  std::vector<std::string_view> reached;
  std::uint64_t slowest = 0;
  bool by_udp = true;
  for (const TriedWay& way : ways) {
    const std::size_t before = findings.size();
    add_failures(way, findings);
    if (findings.size() != before) continue;
    reached.push_back(way.to);
    by_udp = by_udp && way.where.udp;
    slowest = std::max({slowest, way.way.tcp.microseconds, way.way.udp.microseconds});
  }
  if (reached.empty()) return findings;
  const std::size_t more = reached.size() - std::min(reached.size(), kNamesMax);
  reached.resize(reached.size() - more);
  findings.insert(findings.begin(), {Mark::ok,
                                     "network",
                                     fmt::format("reaches {}{} by {}, within {:.1f} ms", fmt::join(reached, ", "),
                                                 more > 0 ? fmt::format(" and {} more", more) : "",
                                                 by_udp ? "tcp and udp" : "tcp", static_cast<double>(slowest) / 1000),
                                     {}});
  return findings;
}

}  // namespace troupe::detail
