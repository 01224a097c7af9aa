// The keys of a cluster's configuration: the allowed values, the defaults, and the conversion from text.
//
// One table serves the config file, TROUPE__SECTION__KEY variables and `--set section.key=value`. A new key is one line
// in settings.cc and one field in the struct that its readers use.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "actors/sessions/peer_limits.h"

namespace troupe {

/// Environment variables by name.
using Variables = std::map<std::string, std::string, std::less<>>;

/// Returns the variables of this process.
[[nodiscard]] Variables process_variables();

/// The settings of every node of a cluster. `troupe up` passes them to its nodes as TROUPE__SECTION__KEY variables.
struct NodeSettings {
  std::chrono::milliseconds join_timeout{30'000};      ///< from start until all nodes are members
  std::chrono::milliseconds shutdown_timeout{10'000};  ///< from the request to stop until this node has ended
  std::chrono::milliseconds heartbeat{0};   ///< minimum interval between two heartbeats to one peer; 0: by the network
  std::chrono::milliseconds suspicion{0};   ///< silent for this long beyond a heartbeat: unreachable; 0: by the network
  std::chrono::milliseconds lease{10'000};  ///< silent for this long: down
  bool debug = false;                       ///< silence has no consequences
  std::chrono::milliseconds stall_limit{30'000};  ///< a router without progress for this long ends the process
  int math_threads = 0;                           ///< outside served functions; 0 = cores / processes on the host
  std::size_t shared_memory_max = std::size_t{2}
                                  << 30;  ///< large tensors that peers on the host read in place; 0: none
  bool rings = true;                      ///< small messages between processes of a host take shared memory
  bool streams = true;                    ///< large messages over tcp have connections of their own
  bool spin = true;                       ///< threads that wait for these look for 200 us before they sleep
  bool confined = false;                  ///< the process may start no programs
  std::string leaks = "warn";             ///< warn or fail
  std::string network = "auto";           ///< auto, loopback, keys or trusted
  std::string address;       ///< host or interface where nodes listen over TCP; empty: 127.0.0.1, or toward the seed
  std::string ports;         ///< "LOW-HIGH", of which a node chooses where it listens over tcp; empty: any free port
  std::string stream_ports;  ///< the same for large messages; empty: any free port, with `ports` none
  int join_port = 0;         ///< where the first node hears newcomers that no list has; 0: nowhere
  bool grows = false;        ///< nodes that are not in this node's file may join later
  std::string advertise;     ///< HOST or HOST:PORT told to peers instead of `address`; empty: the same
  std::string audit_log;     ///< directory where each node keeps NAME.audit; empty: none
  std::string log_level = "info";  ///< trace, debug, info, warn, error or off
  int pool_threads = 0;            ///< functions that compute at the same time; 0 = number of cores
  int pool_threads_max = 2048;     ///< beyond it calls fail with resource_exhausted
  PeerLimits peer;                 ///< all of section [peer]
};

/// The origin of a value; a later layer overrides an earlier one.
struct Origin {
  enum class Layer : std::uint8_t { built_in, file, environment, command_line };
  Layer layer = Layer::built_in;
  std::string place;  ///< file: "cluster.toml:7"; environment: the variable's name; built_in: what decided, or empty
  unsigned line = 0;  ///< file only

  /// Returns "cluster.toml:7", "environment TROUPE__NODE__LOG_LEVEL", "command line" or "built-in default".
  [[nodiscard]] std::string text() const;
};

enum class SettingKind : std::uint8_t { integer, boolean, text, choice, name, duration, size, list, table };

/// One key: "cluster.port" is section "cluster", key "port".
struct SettingSpec {
  std::string_view section;
  std::string_view key;
  SettingKind kind = SettingKind::text;
  std::string_view fallback = "";  ///< built-in value as text
  std::string_view about = "";     ///< one line of description
  std::int64_t min = 0;            ///< integer, duration (milliseconds) and size (bytes); both 0: any
  std::int64_t max = 0;
  std::string_view choices = "";  ///< choice only: "ipc, tcp"
  bool required = false;          ///< the file must give it
  std::string_view between_machines =
      "";  ///< duration only: built-in value of networks "keys" and "trusted", if another
};

/// All keys of [cluster], [node], [pool] and [peer], in the order in which they are shown.
[[nodiscard]] std::span<const SettingSpec> cluster_setting_specs();

/// All keys of one [[role]].
[[nodiscard]] std::span<const SettingSpec> role_setting_specs();

/// All keys of one [[host]].
[[nodiscard]] std::span<const SettingSpec> host_setting_specs();

/// A value from an environment variable or the command line: the key determines its type.
struct Untyped {
  std::string text;
};
/// A value in the file whose type fits no key, in words: "a date", "an array with an integer in it".
struct Misfit {
  std::string what;
};
/// A number of bytes.
struct ByteSize {
  std::int64_t bytes = 0;
  friend bool operator==(const ByteSize&, const ByteSize&) = default;
};
using StringTable = std::map<std::string, std::string>;
using RawSetting =
    std::variant<Untyped, std::int64_t, bool, std::string, std::vector<std::string>, StringTable, Misfit>;
using SettingValue = std::variant<std::int64_t, bool, std::string, std::chrono::milliseconds, ByteSize,
                                  std::vector<std::string>, StringTable>;

/// Returns `raw` as the type that `spec` requires. Throws std::invalid_argument with the expected and the found value:
/// `expected an integer, found "abc"`.
[[nodiscard]] SettingValue checked(const SettingSpec& spec, const RawSetting& raw);

/// Returns the value of a key that is not given: 0 for a duration that the network decides.
[[nodiscard]] SettingValue fallback_of(const SettingSpec& spec);

/// Returns the value as written in a file: `"ipc"`, `29500`, `true`, `"30s"`, `"64MiB"`, `["./ps", "--fast"]`.
[[nodiscard]] std::string shown(const SettingValue& value);

/// Checked values by full key: "cluster.port".
using SettingValues = std::map<std::string, SettingValue, std::less<>>;

/// Returns the settings for nodes in `values`. REQUIRES: `values` has every key of cluster_setting_specs().
[[nodiscard]] NodeSettings node_settings(const SettingValues& values);

/// Returns `settings` as TROUPE__SECTION__KEY variables, without those that the network decides.
[[nodiscard]] Variables as_variables(const NodeSettings& settings);

/// Returns "TROUPE__CLUSTER__JOIN_TIMEOUT" for section "cluster", key "join_timeout".
[[nodiscard]] std::string variable_name(std::string_view section, std::string_view key);

}  // namespace troupe
