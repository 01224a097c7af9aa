#include "node/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "node/config/config_file.h"
#include "node/config/config_overrides.h"
#include "node/core_quota.h"
#include "node/links/tcp_place.h"
#include "node/node_name.h"

namespace troupe {
namespace {

constexpr int kWorldMax = 65'536;

class Reader {
 public:
  explicit Reader(const Variables& variables) : variables_(variables) {}

  NodeEnvironment read() {
    read_settings();
    if (has("TROUPE_SEED")) {
      read_troupe();
    } else if (has("MASTER_ADDR") || has("MASTER_PORT") || has("RANK") || has("WORLD_SIZE")) {
      read_torchrun();
    } else {
      refuse_parts_of_a_place();
      result_.name = optional("TROUPE_NODE").value_or("node");
      result_.role = result_.name;
      result_.world = {result_.name};
    }
    if (!is_valid_configured_name(result_.name)) {
      throw EnvironmentError(fmt::format("TROUPE_NODE=\"{}\": not a name: {}", result_.name, kConfiguredNameRule));
    }
    read_host();
    return std::move(result_);
  }

 private:
  bool has(std::string_view name) const { return variables_.find(name) != variables_.end(); }

  std::optional<std::string> optional(std::string_view name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Returns the variable, which is required because variable `because` is set.
  std::string required(std::string_view name, std::string_view because) const {
    auto value = optional(name);
    if (!value || value->empty()) throw EnvironmentError(fmt::format("{} is missing{}", name, because));
    return *value;
  }

  static int integer(std::string_view name, std::string_view text, int min, int max) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < min || value > max) {
      throw EnvironmentError(fmt::format("{}=\"{}\": expected an integer in {}..{}", name, text, min, max));
    }
    return value;
  }

  /// Keys, a secret and the place of the first node are for a cluster: without one they would be left out in silence.
  /// (cluster.port alone claims no place.)
  void refuse_parts_of_a_place() const {
    for (const std::string& part :
         {std::string("TROUPE_KEY_FILE"), std::string("TROUPE_SECRET_FILE"), variable_name("cluster", "seed")}) {
      if (!has(part)) continue;
      throw EnvironmentError(
          fmt::format("{} is set, but nothing gives this process a place in a cluster: set MASTER_ADDR, MASTER_PORT, "
                      "RANK and WORLD_SIZE, start it with `troupe node`, or unset it",
                      part));
    }
  }

  void read_settings() {
    detail::GivenConfig given;
    Variables of_nodes = variables_;
    // Those of roles and hosts override a file, for the program that reads one.
    std::erase_if(of_nodes, [](const auto& variable) {
      return variable.first.starts_with("TROUPE__ROLE__") || variable.first.starts_with("TROUPE__HOST__");
    });
    detail::lay_over(given, of_nodes);
    for (const auto& problem : given.problems) {
      throw EnvironmentError(fmt::format("{}: {}", problem.origin.text(), problem.what));
    }
    SettingValues values;
    for (const SettingSpec& spec : cluster_setting_specs()) {
      const std::string key = fmt::format("{}.{}", spec.section, spec.key);
      const auto found = given.settings.find(key);
      try {
        values.emplace(key, found == given.settings.end() ? fallback_of(spec) : checked(spec, found->second.value));
      } catch (const std::invalid_argument& error) {
        throw EnvironmentError(fmt::format("{}: {}: {}", found->second.origin.text(), key, error.what()));
      }
    }
    result_.settings = node_settings(values);
    first_port_ = static_cast<int>(std::get<std::int64_t>(values.at("cluster.port")));
  }

  void read_troupe() {
    constexpr std::string_view kSeed = " although TROUPE_SEED is set";
    result_.seed_address = required("TROUPE_SEED", kSeed);
    result_.cluster = required("TROUPE_CLUSTER", kSeed);
    result_.cluster_id = required("TROUPE_CLUSTER_ID", kSeed);
    result_.name = required("TROUPE_NODE", kSeed);
    // With keys of files nobody has looked for the way to the seed yet.
    result_.bind_address =
        has("TROUPE_KEY_FILE") ? optional("TROUPE_ADDRESS").value_or("") : required("TROUPE_ADDRESS", kSeed);
    result_.role = optional("TROUPE_ROLE").value_or(result_.name);
    const std::string world = required("TROUPE_WORLD", kSeed);
    for (std::size_t begin = 0; begin <= world.size();) {
      const std::size_t end = std::min(world.find(',', begin), world.size());
      result_.world.push_back(world.substr(begin, end - begin));
      begin = end + 1;
    }
    result_.world_size = static_cast<int>(result_.world.size());
    result_.index = integer("TROUPE_INDEX", optional("TROUPE_INDEX").value_or("0"), 0, kWorldMax - 1);
    result_.rank = integer("TROUPE_RANK", required("TROUPE_RANK", kSeed), 0, kWorldMax - 1);
    if (result_.rank >= result_.world_size) {
      throw EnvironmentError(fmt::format("TROUPE_RANK={}: TROUPE_WORLD=\"{}\" has no such place", result_.rank, world));
    }
    const std::string& expected = result_.world[static_cast<std::size_t>(result_.rank)];
    if (expected != result_.name) {
      throw EnvironmentError(fmt::format("TROUPE_NODE=\"{}\": TROUPE_WORLD=\"{}\" has \"{}\" at rank {}", result_.name,
                                         world, expected, result_.rank));
    }
    read_secret_source();
    read_call_grants();
  }

  void read_torchrun() {
    constexpr std::string_view kOthers = ": MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE go together";
    std::string host = required("MASTER_ADDR", kOthers);
    const int port = integer("MASTER_PORT", required("MASTER_PORT", kOthers), 1, 65'535);
    result_.world_size = integer("WORLD_SIZE", required("WORLD_SIZE", kOthers), 1, kWorldMax);
    result_.rank = integer("RANK", required("RANK", kOthers), 0, kWorldMax - 1);
    if (result_.rank >= result_.world_size) {
      throw EnvironmentError(fmt::format("RANK={}: must be less than WORLD_SIZE={}", result_.rank, result_.world_size));
    }
    if (host == "localhost") host = "127.0.0.1";
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    const bool is_here = is_loopback(host);
    const bool has_keys = (has("TROUPE_KEYS_FD") || has("TROUPE_KEY_FILE")) && result_.settings.network != "loopback";
    if (!is_here && !has_keys && result_.settings.network != "trusted") {
      throw EnvironmentError(fmt::format(
          "MASTER_ADDR=\"{}\": another machine, or a name for one: set TROUPE_KEY_FILE to a key of this node "
          "(troupe keys --help); or, if everybody on that network may read and change what nodes say, {}=trusted",
          host, variable_name("cluster", "network")));
    }
    const TcpPlace seed{host, fmt::format("{}", port_beside_torchrun(port))};
    result_.seed_address = seed.text();
    const std::string& own = result_.settings.address;
    if (!own.empty()) {
      result_.bind_address = TcpPlace{own, result_.rank == 0 ? seed.port : "*"}.text();
    } else if (result_.rank == 0) {
      result_.bind_address = result_.seed_address;
    } else if (is_here) {
      result_.bind_address = "tcp://127.0.0.1:*";
    }
    result_.cluster = optional("TROUPE_CLUSTER").value_or("troupe");
    result_.cluster_id = optional("TROUPE_CLUSTER_ID").value_or(fmt::format("{}:{}", host, port));
    result_.name = optional("TROUPE_NODE").value_or(fmt::format("rank{}", result_.rank));
    result_.role = optional("TROUPE_ROLE").value_or(result_.name);
    result_.index = 0;
    if (const auto here = optional("LOCAL_WORLD_SIZE")) {
      processes_here_ = integer("LOCAL_WORLD_SIZE", *here, 1, result_.world_size);
    }
    read_secret_source();
    read_call_grants();
  }

  /// Returns the port of rank 0: MASTER_PORT, unless cluster.port is another. Torchrun's agent listens at MASTER_PORT
  /// itself if it says so.
  int port_beside_torchrun(int master_port) const {
    constexpr const char* kAgentListens = "TORCHELASTIC_USE_AGENT_STORE";
    const int port = first_port_ == 0 ? master_port : first_port_;
    if (port != master_port || optional(kAgentListens).value_or("") != "True") return port;
    throw EnvironmentError(fmt::format(
        "{}=True: torchrun itself listens at MASTER_PORT={}: set {} to another port, the same for all nodes, "
        "at which rank 0 listens",
        kAgentListens, master_port, variable_name("cluster", "port")));
  }

  void read_call_grants() {
    const std::string text = optional("TROUPE_CALLS").value_or("");
    try {
      result_.call_grants = CallGrants::parse(text);
    } catch (const std::invalid_argument& error) {
      throw EnvironmentError(fmt::format("TROUPE_CALLS=\"{}\": {}", text, error.what()));
    }
  }

  void read_secret_source() {
    if (const auto keys = optional("TROUPE_KEY_FILE")) {
      read_key_files(*keys);
    } else if (const auto descriptor = optional("TROUPE_SECRET_FD")) {
      result_.secret.kind = SecretSource::Kind::descriptor;
      result_.secret.descriptor = integer("TROUPE_SECRET_FD", *descriptor, 0, 1 << 20);
    } else if (const auto file = optional("TROUPE_SECRET_FILE")) {
      result_.secret.kind = SecretSource::Kind::file;
      result_.secret.file = *file;
    } else if (result_.world_size > 1 || result_.settings.grows) {
      throw EnvironmentError(
          "TROUPE_SECRET_FILE is missing: name a file of 32 random bytes, mode 0600, the same for all nodes "
          "(head -c 32 /dev/urandom > FILE); or set TROUPE_KEY_FILE to a key of this node (troupe keys --help)");
    }
    if (const auto keys = optional("TROUPE_KEYS_FD")) {
      result_.keys_descriptor = integer("TROUPE_KEYS_FD", *keys, 0, 1 << 20);
    }
  }

  void read_key_files(const std::string& key_file) {
    for (const char* other : {"TROUPE_SECRET_FD", "TROUPE_SECRET_FILE", "TROUPE_KEYS_FD"}) {
      if (has(other)) throw EnvironmentError(fmt::format("TROUPE_KEY_FILE and {} are both set", other));
    }
    if (key_file.empty()) throw EnvironmentError("TROUPE_KEY_FILE=\"\": expected the path of a key file");
    result_.key_file = key_file;
    result_.members_file = optional("TROUPE_MEMBERS_FILE").value_or("");
  }

  void read_host() {
    if (const auto threads = optional("TROUPE_MATH_THREADS")) {
      result_.math_threads = integer("TROUPE_MATH_THREADS", *threads, 1, 1024);
    } else if (result_.settings.math_threads > 0) {
      result_.math_threads = result_.settings.math_threads;
    } else {
      result_.math_threads =
          std::max(1, available_cores() / (processes_here_ > 0 ? processes_here_ : result_.world_size));
    }
    const auto progress = optional("TROUPE_PROGRESS");
    if (progress && *progress != "bars" && *progress != "lines") {
      throw EnvironmentError(fmt::format("TROUPE_PROGRESS=\"{}\": expected bars or lines", *progress));
    }
    result_.shows_bars = progress ? *progress == "bars" : can_move_back(variables_) && isatty(STDOUT_FILENO) == 1;
  }

  const Variables& variables_;
  NodeEnvironment result_;
  int first_port_ = 0;      ///< cluster.port: of rank 0; 0: not given
  int processes_here_ = 0;  ///< of the cluster on this host, as far as is told; 0: all of them
};

}  // namespace

bool can_move_back(const Variables& variables) {
  const auto terminal = variables.find("TERM");
  return terminal == variables.end() || terminal->second != "dumb";
}

int available_cores() {
  const int seen = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return std::min(seen, detail::core_quota().value_or(seen));
}

NodeEnvironment read_environment(const Variables& variables) { return Reader(variables).read(); }

}  // namespace troupe
