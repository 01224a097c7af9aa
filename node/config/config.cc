#include "node/config/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "messages/did_you_mean.h"
#include "node/config/config_file.h"
#include "node/config/config_overrides.h"
#include "node/node_name.h"
#include "node/port_range.h"
#include "node/visible_text.h"

namespace troupe {
namespace {

using detail::ConfigProblem;
using detail::GivenConfig;
using detail::GivenSettings;
using detail::GivenTable;

constexpr int kNodesMax = 1024;
constexpr std::size_t kAlignedMax = 60;  // origins of longer lines are not aligned

struct CheckedSetting {
  SettingValue value;
  Origin origin;
};
using CheckedSettings = std::map<std::string, CheckedSetting, std::less<>>;

class Builder {
 public:
  Builder(const std::string& file, GivenConfig given) : given_(std::move(given)), problems_(given_.problems) {
    config_.file = file;
    std::error_code failed;
    config_.directory = std::filesystem::absolute(file, failed).parent_path().lexically_normal();
    if (failed && problems_.empty()) {  // else the file was not read either
      problem({Origin::Layer::file, file}, fmt::format("cannot tell its directory: {}", failed.message()));
    }
  }

  ClusterConfig build() && {
    build_sections();
    for (const GivenTable& host : given_.hosts) build_host(host);
    for (const GivenTable& role : given_.roles) build_role(role);
    // If a file could not be read, errors from its emptiness are omitted.
    if (given_.roles.empty() && problems_.empty()) {
      problem({Origin::Layer::file, config_.file}, "role: there is no [[role]], so nothing to start");
    }
    check_host_names();
    check_hosts_of_roles();
    for (const RoleConfig& role : config_.roles) check_calls_of(role);
    check_transport();
    show_times_of_network();
    check_ports();
    check_names();
    check_result();
    if (!problems_.empty()) throw ConfigError(lines());
    return std::move(config_);
  }

 private:
  void problem(const Origin& origin, std::string what) { problems_.push_back({origin, std::move(what)}); }

  /// The file's lines first and in their order, then the environment, then the command line.
  std::vector<std::string> lines() {
    std::stable_sort(problems_.begin(), problems_.end(), [](const ConfigProblem& a, const ConfigProblem& b) {
      return std::tuple(a.origin.layer, a.origin.line) < std::tuple(b.origin.layer, b.origin.line);
    });
    std::vector<std::string> result;
    for (const ConfigProblem& each : problems_) result.push_back(fmt::format("{}: {}", each.origin.text(), each.what));
    return result;
  }

  /// Returns the value of one key, given or built in; nullopt if it is wrong, or missing without a default. `table`:
  /// the name of the [[role]] or [[host]], as --set has it; empty: neither.
  std::optional<CheckedSetting> check(const SettingSpec& spec, const GivenSettings& given, const std::string& given_key,
                                      std::string_view table) {
    const auto found = given.find(given_key);
    const bool is_given = found != given.end();
    const Origin origin = is_given ? found->second.origin : Origin{};
    if (!is_given && spec.required) return std::nullopt;
    if (!is_given && spec.kind == SettingKind::table) return CheckedSetting{StringTable{}, origin};
    if (!is_given && spec.kind == SettingKind::list) return CheckedSetting{std::vector<std::string>{}, origin};
    try {
      return CheckedSetting{is_given ? checked(spec, found->second.value) : fallback_of(spec), origin};
    } catch (const std::invalid_argument& error) {
      // A line of the file says which table it is in.
      const bool is_named = !table.empty() && origin.layer != Origin::Layer::file;
      problem(origin, fmt::format("{}.{}{}: {}", spec.section, is_named ? fmt::format("{}.", table) : "", spec.key,
                                  error.what()));
      return std::nullopt;
    }
  }

  void build_sections() {
    SettingValues values;
    for (const SettingSpec& spec : cluster_setting_specs()) {
      const std::string key = fmt::format("{}.{}", spec.section, spec.key);
      if (auto value = check(spec, given_.settings, key, {})) {
        config_.entries.push_back({key, shown(value->value), value->origin});
        values.emplace(key, std::move(value->value));
        origins_.emplace(key, std::move(value->origin));
      }
    }
    if (values.size() != cluster_setting_specs().size()) return;
    config_.name = std::get<std::string>(values.at("cluster.name"));
    config_.transport =
        std::get<std::string>(values.at("cluster.transport")) == "tcp" ? Transport::tcp : Transport::ipc;
    config_.transport_origin = origins_.at("cluster.transport");
    config_.port = static_cast<int>(std::get<std::int64_t>(values.at("cluster.port")));
    config_.port_origin = origins_.at("cluster.port");
    config_.seed = std::get<std::string>(values.at("cluster.seed"));
    config_.address_origin = origins_.at("cluster.address");
    config_.advertise_origin = origins_.at("cluster.advertise");
    config_.ports_origin = origins_.at("cluster.ports");
    config_.stream_ports_origin = origins_.at("cluster.stream_ports");
    config_.network_origin = origins_.at("cluster.network");
    config_.result = std::get<std::string>(values.at("cluster.result"));
    config_.copy = std::get<bool>(values.at("cluster.copy"));
    config_.node = node_settings(values);
  }

  /// Returns the values of a [[role]] or [[host]]; nullopt if one is wrong, or missing and required. `examples`: of
  /// those.
  std::optional<CheckedSettings> check_table(const GivenTable& given, std::span<const SettingSpec> specs,
                                             const std::map<std::string_view, std::string_view>& examples) {
    CheckedSettings values;
    bool complete = true;
    for (const SettingSpec& spec : specs) {
      const std::string key(spec.key);
      const auto name = values.find("name");  // the first key
      const std::string table = name == values.end() ? "" : std::get<std::string>(name->second.value);
      if (auto value = check(spec, given.settings, key, table)) {
        values.emplace(key, std::move(*value));
        continue;
      }
      complete = false;
      if (given.settings.contains(key)) continue;
      problem(given.origin, fmt::format("{}.{}: missing, e.g. {} = {}", spec.section, key, key, examples.at(key)));
    }
    if (!complete) return std::nullopt;
    const std::string name = std::get<std::string>(values.at("name").value);
    for (const SettingSpec& spec : specs) {
      const CheckedSetting& value = values.at(std::string(spec.key));
      config_.entries.push_back(
          {fmt::format("{}.{}.{}", spec.section, name, spec.key), shown(value.value), value.origin});
    }
    return values;
  }

  void build_role(const GivenTable& given) {
    const auto values =
        check_table(given, role_setting_specs(), {{"name", R"("trainer")"}, {"command", R"(["./trainer"])"}});
    if (!values) return;
    RoleConfig role;
    role.name = std::get<std::string>(values->at("name").value);
    role.count = static_cast<int>(std::get<std::int64_t>(values->at("count").value));
    role.command = std::get<std::vector<std::string>>(values->at("command").value);
    role.env = std::get<StringTable>(values->at("env").value);
    role.calls_origin = values->at("calls").origin;
    if (role.calls_origin.layer != Origin::Layer::built_in) {
      role.calls = std::get<StringTable>(values->at("calls").value);
    }
    role.working_dir = std::get<std::string>(values->at("working_dir").value);
    const bool keeps_going = std::get<std::string>(values->at("on_exit").value) == "keep_going";
    role.on_exit = keeps_going ? OnExit::keep_going : OnExit::stop_all;
    role.hosts = std::get<std::vector<std::string>>(values->at("hosts").value);
    const auto& placement = std::get<std::string>(values->at("placement").value);
    role.placement = placement == "pack"       ? RolePlacement::pack
                     : placement == "per_host" ? RolePlacement::per_host
                                               : RolePlacement::spread;
    role.name_origin = values->at("name").origin;
    role.command_origin = values->at("command").origin;
    role.working_dir_origin = values->at("working_dir").origin;
    role.hosts_origin = values->at("hosts").origin;
    role.count_origin = values->at("count").origin;
    config_.roles.push_back(std::move(role));
  }

  void build_host(const GivenTable& given) {
    const auto values = check_table(given, host_setting_specs(), {{"name", R"("a")"}});
    if (!values) return;
    const auto text = [&](const char* key) { return std::get<std::string>(values->at(key).value); };
    HostConfig host;
    host.name = text("name");
    host.address = text("address");
    host.slots = static_cast<int>(std::get<std::int64_t>(values->at("slots").value));
    host.gpus = static_cast<int>(std::get<std::int64_t>(values->at("gpus").value));
    host.working_dir = text("working_dir");
    host.env = std::get<StringTable>(values->at("env").value);
    host.name_origin = values->at("name").origin;
    host.agent = std::get<std::vector<std::string>>(values->at("agent").value);
    const bool is_local = std::get<bool>(values->at("local").value);
    for (const std::string key : {"ssh", "troupe"}) {
      const auto wrong = wrong_in_a_word(text(key.c_str()));
      if (wrong) problem(values->at(key).origin, fmt::format("host.{}: \"{}\" {}", key, text(key.c_str()), *wrong));
    }
    if (!host.working_dir.empty() && !host.working_dir.is_absolute()) {
      problem(values->at("working_dir").origin,
              fmt::format("host.working_dir: \"{}\" is not an absolute path", host.working_dir.string()));
    }
    if (!host.agent.empty()) {
      if (is_local || !text("ssh").empty()) {
        problem(values->at("agent").origin, "host.agent: replaces host.ssh and host.local: give one of the three");
      }
    } else if (is_local) {
      if (!text("ssh").empty()) problem(values->at("ssh").origin, "host.ssh: host.local says that it needs none");
      host.agent = {std::string(kThisProgram), "agent"};
    } else {
      const std::string to = text("ssh").empty() ? host.name : text("ssh");
      host.reached_as = to.substr(to.find('@') + 1);
      host.agent = {"ssh", "-T", "-o", "BatchMode=yes", to, text("troupe"), "agent"};
    }
    config_.hosts.push_back(std::move(host));
  }

  /// Returns why a remote shell would not take `word` as it is; nullopt if it would.
  static std::optional<std::string_view> wrong_in_a_word(std::string_view word) {
    if (word.starts_with('-')) return "begins with a -";
    const auto is_plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("-_.:/@+%").find(c) != std::string_view::npos;
    };
    if (std::all_of(word.begin(), word.end(), is_plain)) return std::nullopt;
    return "has a character that a remote shell may read as its own; allowed are A-Z a-z 0-9 - _ . : / @ + %";
  }

  void check_host_names() {
    std::map<std::string, std::string> places;
    for (const HostConfig& host : config_.hosts) {
      const auto [same, is_new] = places.emplace(host.name, host.name_origin.text());
      if (is_new) continue;
      problem(host.name_origin,
              fmt::format("host.name: \"{}\" is already the name of the host at {}", host.name, same->second));
    }
  }

  /// Also makes `count` of a role that has so many processes on each host the number of all.
  void check_hosts_of_roles() {
    if (config_.hosts.size() != given_.hosts.size()) return;  // names are known only if every host is right
    std::vector<std::string_view> known;
    for (const HostConfig& host : config_.hosts) known.push_back(host.name);
    for (RoleConfig& role : config_.roles) {
      std::set<std::string_view> named;
      for (const std::string& name : role.hosts) {
        if (!named.insert(name).second)
          problem(role.hosts_origin, fmt::format("role.hosts: \"{}\" is named twice", name));
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        problem(role.hosts_origin, known.empty()
                                       ? fmt::format("role.hosts: \"{}\": the file has no [[host]]", name)
                                       : fmt::format("role.hosts: no host \"{}\"{}", name, did_you_mean(name, known)));
      }
      if (role.placement != RolePlacement::per_host || config_.hosts.empty()) continue;
      role.count *= static_cast<int>(role.hosts.empty() ? config_.hosts.size() : role.hosts.size());
    }
  }

  void check_calls_of(const RoleConfig& role) {
    if (!role.calls || config_.roles.size() != given_.roles.size())
      return;  // names are known only if every role is right
    if (role.calls->empty()) {
      problem(role.calls_origin, R"(role.calls: the table names no peer; write "*" = "" if no peer may call anything)");
    }
    std::vector<std::string> names;
    for (const RoleConfig& other : config_.roles) {
      names.push_back(other.name);
      for (int i = 0; i < other.count; ++i) names.push_back(node_name(other, i));
    }
    const std::vector<std::string_view> known(names.begin(), names.end());
    for (const auto& [peer, functions] : *role.calls) {
      if (peer != "*" && std::ranges::find(known, peer) == known.end()) {
        problem(role.calls_origin,
                fmt::format("role.calls: no role or node \"{}\"{}", peer, did_you_mean(peer, known)));
      }
      if (functions.find_first_of(";=") != std::string::npos) {
        problem(role.calls_origin,
                fmt::format("role.calls: \"{}\" = \"{}\": names of functions are separated by blanks or commas", peer,
                            functions));
      }
    }
  }

  void check_ports() {
    for (const auto& [key, ports] : {std::pair("cluster.ports", config_.node.ports),
                                     std::pair("cluster.stream_ports", config_.node.stream_ports)}) {
      if (ports.empty() || PortRange::parse(ports)) continue;
      problem(origins_.at(key),
              fmt::format("{}: \"{}\" is not LOW-HIGH, two ports of 1 to 65535, e.g. \"29500-29599\"", key, ports));
    }
  }

  /// Several hosts need TCP.
  void check_transport() {
    const auto origin = origins_.find("cluster.transport");
    if (config_.hosts.size() < 2 || origin == origins_.end()) return;
    const bool is_given = origin->second.layer != Origin::Layer::built_in;
    if (is_given && config_.transport == Transport::ipc) {
      problem(origin->second, "cluster.transport: processes on several hosts reach each other by \"tcp\" only");
    }
    config_.transport = Transport::tcp;
    const auto shown = std::ranges::find(config_.entries, "cluster.transport", &ConfigEntry::key);
    shown->value = "\"tcp\"";
  }

  /// Shows the times that the network decides. With "auto" an engine that starts nodes on several hosts gives them
  /// keys.
  void show_times_of_network() {
    const std::string& network = config_.node.network;
    const bool is_named = network == "keys" || network == "trusted";
    const bool are_far = is_named || (network == "auto" && config_.hosts.size() > 1);
    for (const SettingSpec& spec : cluster_setting_specs()) {
      if (spec.between_machines.empty()) continue;
      const auto entry =
          std::ranges::find(config_.entries, fmt::format("{}.{}", spec.section, spec.key), &ConfigEntry::key);
      if (entry == config_.entries.end() || entry->origin.layer != Origin::Layer::built_in) continue;
      entry->value = shown(checked(spec, Untyped{std::string(are_far ? spec.between_machines : spec.fallback)}));
      if (is_named) {
        entry->origin.place = fmt::format("with network = \"{}\"", network);
      } else if (network == "auto") {
        entry->origin.place = are_far ? "between hosts" : fmt::format("(with keys {})", spec.between_machines);
      }
    }
  }

  void check_names() {
    struct Owner {
      std::string role;
      std::string place;
    };
    std::map<std::string, Owner> roles;
    std::map<std::string, Owner> nodes;
    int count = 0;
    for (const RoleConfig& role : config_.roles) {
      const Owner owner{role.name, role.name_origin.text()};
      const auto [same_role, is_new] = roles.emplace(role.name, owner);
      if (!is_new) {
        problem(role.name_origin, fmt::format("role.name: \"{}\" is already the name of the role at {}", role.name,
                                              same_role->second.place));
        continue;
      }
      count += role.count;
      if (const std::string longest = node_name(role, role.count - 1); longest.size() > kConfiguredNameMax) {
        problem(role.name_origin, fmt::format("role.name: node name \"{}\" has {} characters, more than {}", longest,
                                              longest.size(), kConfiguredNameMax));
      }
      for (int index = 0; index < role.count; ++index) {
        const auto [other, is_free] = nodes.emplace(node_name(role, index), owner);
        if (is_free) continue;
        problem(role.name_origin, fmt::format("role.name: node name \"{}\" is already taken by role \"{}\" at {}",
                                              other->first, other->second.role, other->second.place));
        break;
      }
    }
    if (count > kNodesMax) {
      problem({Origin::Layer::file, config_.file},
              fmt::format("role.count: {} nodes in all, more than {}", count, kNodesMax));
    }
  }

  void check_result() {
    // Names are known only if every role is right.
    if (config_.result.empty() || config_.roles.size() != given_.roles.size()) return;
    const std::vector<std::string> names = node_names(config_);
    if (std::find(names.begin(), names.end(), config_.result) != names.end()) return;
    const std::vector<std::string_view> known(names.begin(), names.end());
    problem(origins_.at("cluster.result"),
            fmt::format("cluster.result: no node \"{}\"{}", config_.result, did_you_mean(config_.result, known)));
  }

  GivenConfig given_;
  std::vector<ConfigProblem> problems_;
  ClusterConfig config_;
  std::map<std::string, Origin, std::less<>> origins_;  ///< of the values outside roles
};

}  // namespace

ConfigError::ConfigError(std::vector<std::string> lines)
    : std::runtime_error(detail::visible_text(fmt::format("{}", fmt::join(lines, "\n")))), lines_(std::move(lines)) {
  for (std::string& line : lines_) line = detail::visible_text(line);
}

ClusterConfig load_config(const std::string& file, const Variables& variables, std::span<const std::string> overrides) {
  GivenConfig given = detail::read_config_file(file);
  detail::lay_over(given, variables);
  detail::lay_over(given, overrides);
  return Builder(file, std::move(given)).build();
}

std::string node_name(const RoleConfig& role, int index) {
  return role.count == 1 ? role.name : fmt::format("{}{}", role.name, index);
}

std::vector<std::string> node_names(const ClusterConfig& config) {
  std::vector<std::string> names;
  for (const RoleConfig& role : config.roles) {
    for (int index = 0; index < role.count; ++index) names.push_back(node_name(role, index));
  }
  return names;
}

std::string describe(const ClusterConfig& config, ShowOrigin origin) {
  std::size_t width = 0;
  for (const ConfigEntry& entry : config.entries) {
    const std::size_t size = entry.key.size() + entry.value.size() + 3;
    if (size <= kAlignedMax) width = std::max(width, size);
  }
  std::string result;
  for (const ConfigEntry& entry : config.entries) {
    const std::string line = fmt::format("{} = {}", entry.key, entry.value);
    result += origin == ShowOrigin::yes ? fmt::format("{:<{}}  # {}\n", line, width, entry.origin.text()) : line + "\n";
  }
  return result;
}

}  // namespace troupe
