// The configuration of a cluster: its file, overridden by the environment and the command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "node/config/settings.h"

namespace troupe {

enum class Transport : std::uint8_t { ipc, tcp };

/// What the failure of one node does to the others.
enum class OnExit : std::uint8_t { stop_all, keep_going };

/// How the processes of a role are placed on hosts.
enum class RolePlacement : std::uint8_t {
  spread,    ///< the next one goes to the host with the fewest processes
  pack,      ///< hosts are filled in the order of the file
  per_host,  ///< each host gets the same number
};

/// One [[role]]: `count` processes that run the same command.
struct RoleConfig {
  std::string name;
  int count = 1;                      ///< on all hosts together
  std::vector<std::string> command;   ///< program and arguments, at least the program
  StringTable env;                    ///< added to the inherited environment
  std::optional<StringTable> calls;   ///< functions, by blanks or commas, that roles or nodes ("*": all) may call
  std::filesystem::path working_dir;  ///< relative to the file's directory; empty = where `troupe` was started
  OnExit on_exit = OnExit::stop_all;
  std::vector<std::string> hosts;  ///< names of those that may run it; empty = all
  RolePlacement placement = RolePlacement::spread;
  Origin name_origin;
  Origin command_origin;
  Origin working_dir_origin;
  Origin hosts_origin;
  Origin count_origin;
  Origin calls_origin;
};

/// This program, for one that it starts.
inline constexpr std::string_view kThisProgram = "/proc/self/exe";

/// One [[host]]: a machine on which processes are started.
struct HostConfig {
  std::string name;
  std::vector<std::string> agent;     ///< program and arguments that run `troupe agent` there
  std::string reached_as;             ///< its name or address for ssh; empty if ssh is not used
  std::string address;                ///< where its nodes listen; empty = toward the first node
  int slots = 0;                      ///< most processes; 0 = any number
  int gpus = 0;                       ///< taken in turn by its processes; 0 = not assigned
  std::filesystem::path working_dir;  ///< replaces the file's directory there; empty = the same path
  StringTable env;                    ///< added to the environment of its processes
  Origin name_origin;

  /// Returns whether it is certain to be this machine.
  [[nodiscard]] bool is_here() const { return !agent.empty() && agent.front() == kThisProgram; }
};

/// One line of `troupe config show`.
struct ConfigEntry {
  std::string key;    ///< "cluster.port", "role.trainer.count"
  std::string value;  ///< as in a file
  Origin origin;
};

struct ClusterConfig {
  std::string file;                 ///< as the user gave it
  std::filesystem::path directory;  ///< absolute; of the file
  std::string name;
  Transport transport = Transport::ipc;
  Origin transport_origin;
  int port = 0;  ///< of the seed, tcp only; 0 = any free one
  Origin port_origin;
  std::string seed;            ///< host of the first node; empty: found by `troupe up` or the engine
  Origin address_origin;       ///< of node.address
  Origin advertise_origin;     ///< of node.advertise
  Origin ports_origin;         ///< of node.ports
  Origin stream_ports_origin;  ///< of node.stream_ports
  bool copy = false;           ///< programs that a host lacks are copied there
  Origin network_origin;       ///< of node.network
  std::string result;          ///< node whose last line is the run's result; empty = none
  NodeSettings node;
  std::vector<RoleConfig> roles;  ///< in the order of the file, which is the order of ranks
  std::vector<HostConfig> hosts;  ///< in the order of the file; none: all processes run here
  std::vector<ConfigEntry> entries;
};

/// All errors of a configuration, one line each: `cluster.toml:7: role.comand: unknown key, did you
/// mean "command"?`
class ConfigError : public std::runtime_error {
 public:
  /// The lines have text of files and variables: control characters are shown, as visible_text does.
  explicit ConfigError(std::vector<std::string> lines);
  [[nodiscard]] const std::vector<std::string>& lines() const noexcept { return lines_; }

 private:
  std::vector<std::string> lines_;
};

/// Reads `file`, then applies TROUPE__SECTION__KEY of `variables`, then `overrides` ("section.key=value"). A role's key
/// is "role.<name>.<key>", a host's "host.<name>.<key>". Throws ConfigError with all errors found.
[[nodiscard]] ClusterConfig load_config(const std::string& file, const Variables& variables,
                                        std::span<const std::string> overrides);

/// Returns the name of process `index` of `role`: "ps" if there is only one, otherwise "trainer0", "trainer1", ...
[[nodiscard]] std::string node_name(const RoleConfig& role, int index);

/// Returns the names of all nodes in order of rank.
[[nodiscard]] std::vector<std::string> node_names(const ClusterConfig& config);

enum class ShowOrigin : std::uint8_t { no, yes };

/// Returns all keys with their values, one per line, with their origins if wanted.
[[nodiscard]] std::string describe(const ClusterConfig& config, ShowOrigin origin);

}  // namespace troupe
