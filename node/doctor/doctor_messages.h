// What `troupe doctor` and the agents of hosts tell each other, beside agent_messages.h. Plain data, as JSON in frames.
//
//   doctor                            agent
//      |  <-- greeting, welcome --------|
//      |  --- clock ------------------> |   three times: the shortest way there and back says most
//      |  <-- time ---------------------|
//      |  --- examine ----------------> |
//      |  <-- facts --------------------|   limits, memory, libraries
//      |  --- listen -----------------> |   the host of the first node first: others listen toward it
//      |  <-- listening ----------------|
//      |  --- reach ------------------> |   where all others listen
//      |  <-- reached ------------------|
//      |  --- prepare ----------------> |   as for `troupe up`; nothing is copied, nothing starts
//      |  <-- prepared or refused ------|
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "node/hosts/agent_messages.h"

namespace troupe::detail {

/// A limit that is none.
inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// What a host is and has, for processes that its agent starts. Body of `facts`.
struct HostFacts {
  std::string system{};               ///< "Linux 6.1.0 x86_64"
  std::uint64_t cores = 1;            ///< that processes may use
  std::uint64_t memory = 0;           ///< bytes
  std::uint64_t memory_free = 0;      ///< bytes, as far as the system gives them
  std::uint64_t shared = 0;           ///< bytes of /dev/shm; 0: there is none
  std::uint64_t shared_free = 0;      ///< of these
  std::uint64_t descriptors_max = 0;  ///< RLIMIT_NOFILE: nodes raise theirs to it
  std::uint64_t locked_max = 0;       ///< bytes, RLIMIT_MEMLOCK
  std::string zmq{};                  ///< version of libzmq; empty: the loader finds none
  bool zmq_curve = false;             ///< it encrypts
  std::string sodium{};               ///< version of libsodium
  bool aes = false;                   ///< the processor has instructions for AES-256-GCM
  friend bool operator==(const HostFacts&, const HostFacts&) = default;
};

/// Listen where a node would. Body of `listen`.
struct ListenOrder {
  std::string address{};              ///< host or interface; empty: found, see `first` and `toward`
  std::string first{};                ///< "tcp://HOST:PORT" of the first node; empty: it would be here
  std::vector<std::string> toward{};  ///< names of other hosts
  std::string network{};              ///< as in cluster.network
  int port = 0;                       ///< 0: a free one of `ports`
  std::string ports{};                ///< as in cluster.ports
  std::string stream_ports{};         ///< as in cluster.stream_ports; empty: no port for streams
  std::string token{};                ///< kTokenSize characters that tell this listener from others
  friend bool operator==(const ListenOrder&, const ListenOrder&) = default;
};

inline constexpr std::size_t kTokenSize = 32;

/// How many ports of a range could be listened at.
struct PortCount {
  static constexpr int kTriedMax = 256;  ///< the first ones of a larger range
  std::uint64_t tried = 0;               ///< 0: there is no range
  std::uint64_t free = 0;
  friend bool operator==(const PortCount&, const PortCount&) = default;
};

/// Where the host listens. Body of `listening`.
struct Listening {
  std::string problem{};  ///< why it does not; all else is empty then
  std::string address{};  ///< numeric
  std::uint16_t port = 0;
  bool udp = false;               ///< at the udp port of this number, too
  std::uint16_t stream_port = 0;  ///< 0: not wanted, or none free
  PortCount ports{};
  PortCount stream_ports{};
  friend bool operator==(const Listening&, const Listening&) = default;
};

/// One listener of another host.
struct ReachPlace {
  std::string address;
  std::uint16_t port = 0;
  bool udp = false;
  std::uint16_t stream_port = 0;
  std::string token;
  friend bool operator==(const ReachPlace&, const ReachPlace&) = default;
};

/// Connect to all these. Body of `reach`.
struct ReachOrder {
  static constexpr std::size_t kPlacesMax = 256;  ///< each takes three descriptors
  std::vector<ReachPlace> places;
  std::uint64_t patience_ms = 0;
  friend bool operator==(const ReachOrder&, const ReachOrder&) = default;
};

enum class ReachOutcome : std::uint8_t {
  untried,
  reached,
  timed_out,
  refused,
  no_route,
  stranger,  ///< another program, or another machine, has answered
  failed,    ///< see the text
};

struct ReachEnd {
  ReachOutcome outcome = ReachOutcome::untried;
  std::string text;                ///< the system's, for failures
  std::uint64_t microseconds = 0;  ///< until the answer was there
  friend bool operator==(const ReachEnd&, const ReachEnd&) = default;
};

/// The way to one listener.
struct HostWay {
  std::string from;  ///< the numeric address from which packets leave; empty if there is none
  ReachEnd tcp;
  ReachEnd udp;
  ReachEnd stream;  ///< tcp, at the port for streams
  friend bool operator==(const HostWay&, const HostWay&) = default;
};

/// Body of `reached`.
struct Reached {
  std::vector<HostWay> ways;  ///< in the order of ReachOrder::places
  friend bool operator==(const Reached&, const Reached&) = default;
};

[[nodiscard]] std::string json_of(const HostFacts& message);
[[nodiscard]] std::string json_of(const ListenOrder& message);
[[nodiscard]] std::string json_of(const Listening& message);
[[nodiscard]] std::string json_of(const ReachOrder& message);
[[nodiscard]] std::string json_of(const Reached& message);

// Each returns the message in a body. Throws AgentProtocolError, for sizes and numbers out of range, too.
template <>
[[nodiscard]] HostFacts parse_body(std::string_view body);
template <>
[[nodiscard]] ListenOrder parse_body(std::string_view body);
template <>
[[nodiscard]] Listening parse_body(std::string_view body);
template <>
[[nodiscard]] ReachOrder parse_body(std::string_view body);
template <>
[[nodiscard]] Reached parse_body(std::string_view body);

}  // namespace troupe::detail
