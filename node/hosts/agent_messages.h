// What `troupe up` and the agents of its hosts tell each other. Plain data, as JSON in frames (agent_frames.h).
//
//   launcher                          agent
//      |  <-- greeting, welcome --------|   who it is
//      |  --- prepare ----------------> |   which programs, and does the first node listen there
//      |  <-- prepared -----------------|   which programs it lacks, where the first node will listen
//      |  --- program ... ------------> |   those, if they may be copied
//      |  <-- prepared -----------------|
//      |  --- secret, keys, start ----> |   which nodes
//      |  <-- started ------------------|
//      |  <-- output, lost, ended ... --|
//      |  <-- exited ... ---------------|   before output that waits
//      |  --- hold ... ---------------> |   whether nodes that print wait
//      |  --- stopping, signal ... ---> |
//      |  <-- pong --- ping ----------> |   each side gives the other up after a silence of the cluster's lease
//
// `troupe doctor` asks other things first: node/doctor/doctor_messages.h.
//
// `refused` may come in the place of every answer; the agent ends then. The end of its standard input ends its nodes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/config/settings.h"

namespace troupe::detail {

/// The agent's first message.
struct AgentWelcome {
  std::string version;  ///< of the program troupe
  std::string host;     ///< what the machine calls itself
  int cores = 1;
  friend bool operator==(const AgentWelcome&, const AgentWelcome&) = default;
};

/// A program that nodes run.
struct AgentProgram {
  std::string path;        ///< absolute; or a bare name that is looked for on the host's PATH
  std::string hash;        ///< BLAKE2b-256 in hexadecimal digits; empty: not compared
  std::uint64_t size = 0;  ///< bytes, if there is a hash
  bool copy = false;       ///< may be copied if the host lacks it
  friend bool operator==(const AgentProgram&, const AgentProgram&) = default;
};

/// Where the first node of the cluster will listen.
struct AgentSeed {
  std::string address;              ///< host or interface; empty: found, see Prepared
  int port = 0;                     ///< 0: a free one of `ports`
  std::string ports;                ///< as in cluster.ports; empty: all
  std::vector<std::string> toward;  ///< names of other hosts of the cluster
  friend bool operator==(const AgentSeed&, const AgentSeed&) = default;
};

struct AgentPrepare {
  std::string cluster_id;
  std::string network;                ///< as in cluster.network
  std::chrono::milliseconds lease{};  ///< silence of the launcher after which the nodes are ended; 0: none
  std::vector<AgentProgram> programs;
  std::optional<AgentSeed> seed;  ///< on the host of the first node
  friend bool operator==(const AgentPrepare&, const AgentPrepare&) = default;
};

struct AgentPrepared {
  std::vector<std::size_t> lacks;  ///< indices of programs that must be copied
  std::string seed;                ///< "tcp://HOST:PORT", on the host of the first node; otherwise empty
  friend bool operator==(const AgentPrepared&, const AgentPrepared&) = default;
};

/// A node to start.
struct AgentNode {
  std::string name;
  std::size_t program = 0;  ///< index in AgentPrepare::programs
  std::vector<std::string> arguments;
  std::string working_dir;  ///< absolute
  Variables variables;      ///< over those of the order
  friend bool operator==(const AgentNode&, const AgentNode&) = default;
};

struct AgentStart {
  std::string seed;      ///< "tcp://HOST:PORT"
  std::string address;   ///< host or interface where the nodes listen; empty: toward the seed
  int math_threads = 0;  ///< 0: cores / processes
  std::vector<AgentNode> nodes;
  Variables variables = {};  ///< of all nodes; over those of the agent, but for its address
  friend bool operator==(const AgentStart&, const AgentStart&) = default;
};

struct AgentStarted {
  std::vector<int> pids;  ///< in the order of AgentStart::nodes
  friend bool operator==(const AgentStarted&, const AgentStarted&) = default;
};

/// The reasons why the agent does not carry out an order.
struct AgentRefused {
  std::vector<std::string> problems;  ///< one line each
  friend bool operator==(const AgentRefused&, const AgentRefused&) = default;
};

/// Each returns the body of a frame.
[[nodiscard]] std::string json_of(const AgentWelcome& message);
[[nodiscard]] std::string json_of(const AgentPrepare& message);
[[nodiscard]] std::string json_of(const AgentPrepared& message);
[[nodiscard]] std::string json_of(const AgentStart& message);
[[nodiscard]] std::string json_of(const AgentStarted& message);
[[nodiscard]] std::string json_of(const AgentRefused& message);

/// Returns the message in a body. Throws AgentProtocolError. Defined for the messages above.
template <class Message>
[[nodiscard]] Message parse_body(std::string_view body);

}  // namespace troupe::detail
