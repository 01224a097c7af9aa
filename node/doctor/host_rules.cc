#include "node/doctor/host_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "node/text_table.h"

namespace troupe::detail {
namespace {

constexpr std::int64_t kSecond = 1'000'000;         // in microseconds
constexpr std::uint64_t kDescriptorsMin = 1024;     // what nearly every system gives
constexpr std::uint64_t kDescriptorsOwn = 100;      // of a node without peers
constexpr std::uint64_t kDescriptorsPerPeer = 10;   // sockets of ZeroMQ, streams, shared memory
constexpr std::uint64_t kLockedPerNode = 64 << 10;  // keys of a node, whole pages
constexpr std::uint64_t kMemoryMin = 256 << 20;     // less than that is little for any node

/// Returns "0.4 ms", "12.3 s".
std::string time_text(std::int64_t microseconds) {
  const auto value = static_cast<double>(microseconds);
  return microseconds < kSecond ? fmt::format("{:.1f} ms", value / 1000) : fmt::format("{:.1f} s", value / kSecond);
}

std::string limit_text(std::uint64_t limit) { return limit == kNoLimit ? "any number of" : fmt::format("{}", limit); }

Finding judge_memory(const HostFacts& facts) {
  Finding finding{
      Mark::ok,
      "memory",
      fmt::format("{}, {} of it free; /dev/shm {}, {} free", shown_bytes(facts.memory), shown_bytes(facts.memory_free),
                  shown_bytes(facts.shared), shown_bytes(facts.shared_free)),
      {}};
  if (facts.memory_free >= kMemoryMin) return finding;
  finding.mark = Mark::warning;
  finding.hint = "the system ends processes when memory is short: end others, or run fewer nodes there (host.slots)";
  return finding;
}

Finding judge_descriptors(const HostFacts& facts, const HostNeeds& needs) {
  const std::uint64_t needed = descriptors_needed(needs.nodes_of_cluster);
  Finding finding{Mark::ok, "files", fmt::format("{} open files", limit_text(facts.descriptors_max)), {}};
  if (facts.descriptors_max >= needed) return finding;
  finding.mark = Mark::warning;
  finding.hint = fmt::format(
      "a node with {} others may need {}: raise nofile in /etc/security/limits.conf, or LimitNOFILE of the service",
      needs.nodes_of_cluster > 0 ? needs.nodes_of_cluster - 1 : 0, needed);
  return finding;
}

Finding judge_locked(const HostFacts& facts, const HostNeeds& needs) {
  const std::uint64_t needed = kLockedPerNode * std::max<std::uint64_t>(needs.nodes, 1);
  Finding finding{Mark::ok,
                  "locked",
                  facts.locked_max == kNoLimit ? "any amount of locked memory"
                                               : shown_bytes(facts.locked_max) + " of locked memory",
                  {}};
  if (!needs.encrypts || facts.locked_max >= needed) return finding;
  finding.mark = Mark::warning;
  finding.hint = fmt::format(
      "keys need {}, or may be written to swap: raise memlock in /etc/security/limits.conf, or LimitMEMLOCK",
      shown_bytes(needed));
  return finding;
}

Finding judge_zmq(const HostFacts& facts, const HostNeeds& needs) {
  Finding finding{Mark::ok, "libzmq", facts.zmq + (facts.zmq_curve ? ", encrypts" : ", does not encrypt"), {}};
  if (facts.zmq.empty()) {
    finding.seen = "none is found";
    finding.mark = Mark::warning;
    finding.hint = "programs that do not carry it do not start there: install libzmq5";
  } else if (!facts.zmq_curve && needs.encrypts) {
    finding.mark = Mark::problem;
    finding.hint = "it was built without CURVE, and nodes with keys cannot start: install libzmq5 of the distribution";
  }
  return finding;
}

Finding judge_sodium(const HostFacts& facts, const HostNeeds& needs) {
  Finding finding{
      Mark::ok, "libsodium", facts.sodium + (facts.aes ? ", AES-256-GCM" : ", no AES-256-GCM on this processor"), {}};
  if (facts.sodium.empty()) {
    finding.seen = "it cannot start";
    finding.mark = Mark::problem;
    finding.hint = "keys and secrets need it: does the host give random bytes (getrandom)?";
  } else if (!facts.aes && needs.encrypts) {
    finding.mark = Mark::warning;
    finding.hint = "large messages to and from this host are encrypted with ChaCha20-Poly1305, which is slower";
  }
  return finding;
}

/// Judges how many ports of a range are free. `wanted`: by nodes.
Finding judge_ports(const char* check, const PortCount& ports, std::size_t wanted, Mark if_too_few) {
  const bool has_more = ports.tried >= PortCount::kTriedMax;  // that were not tried
  Finding finding{
      Mark::ok, check, fmt::format("{} of {}{} free", ports.free, has_more ? "the first " : "", ports.tried), {}};
  if (has_more || ports.free >= std::max<std::size_t>(wanted, 1)) return finding;
  finding.mark = if_too_few;
  finding.hint =
      fmt::format("{} nodes run there: widen cluster.{}, or end what listens there (ss -ltnup)", wanted, check);
  return finding;
}

}  // namespace

std::uint64_t descriptors_needed(std::size_t nodes_of_cluster) {
  return std::max(kDescriptorsMin, kDescriptorsOwn + kDescriptorsPerPeer * nodes_of_cluster);
}

Finding judge_clock(const std::vector<ClockSample>& samples) {
  const ClockSample& best = *std::ranges::min_element(
      samples, [](const ClockSample& a, const ClockSample& b) { return a.answered - a.asked < b.answered - b.asked; });
  const std::int64_t bound = std::max<std::int64_t>(best.answered - best.asked, 0) / 2;
  const std::int64_t ahead = best.told - (best.asked + bound);
  Finding finding{Mark::ok, "clock", {}, {}};
  finding.seen = fmt::format("{} {}, known to within {}", time_text(std::abs(ahead)), ahead < 0 ? "behind" : "ahead",
                             time_text(bound));
  if (std::abs(ahead) < kSecond || std::abs(ahead) <= bound) return finding;
  finding.mark = Mark::warning;
  finding.hint =
      "signed lists and last days of keys go by the clock, and logs are compared by it: does the host run chrony or "
      "systemd-timesyncd?";
  return finding;
}

std::vector<Finding> judge_facts(const HostFacts& facts, const HostNeeds& needs) {
  return {{Mark::ok, "system", fmt::format("{}, {} cores", facts.system, facts.cores), {}},
          judge_memory(facts),
          judge_descriptors(facts, needs),
          judge_locked(facts, needs),
          judge_zmq(facts, needs),
          judge_sodium(facts, needs)};
}

std::vector<Finding> judge_listening(const Listening& listening, const HostNeeds& needs) {
  if (!listening.problem.empty()) {
    return {{Mark::problem, "address", listening.problem, "nodes could not listen there either"}};
  }
  std::vector<Finding> findings{{Mark::ok, "address", listening.address, {}}};
  if (!listening.udp) {
    findings.front().mark = Mark::warning;
    findings.front().hint =
        fmt::format("udp port {} is taken while its tcp port is free: heartbeats were not tried", listening.port);
  }
  if (listening.ports.tried > 0) findings.push_back(judge_ports("ports", listening.ports, needs.nodes, Mark::problem));
  if (listening.stream_ports.tried > 0)
    findings.push_back(judge_ports("stream_ports", listening.stream_ports, needs.nodes, Mark::warning));
  return findings;
}

}  // namespace troupe::detail
