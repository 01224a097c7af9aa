#include "node/config/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "node/config/config_file.h"
#include "node/config/config_overrides.h"

namespace troupe {
namespace {

using detail::ConfigProblem;
using detail::GivenConfig;
using detail::GivenRole;
using detail::GivenSettings;

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
    config_.directory = std::filesystem::absolute(file).parent_path().lexically_normal();
  }

  ClusterConfig build() && {
    build_sections();
    for (const GivenRole& role : given_.roles) build_role(role);
    // If a file could not be read, errors from its emptiness are omitted.
    if (given_.roles.empty() && problems_.empty()) {
      problem({Origin::Layer::file, config_.file}, "role: there is no [[role]], so nothing to start");
    }
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

  /// Returns the value of one key, given or built in; nullopt if it is wrong, or missing without a default.
  std::optional<CheckedSetting> check(const SettingSpec& spec, const GivenSettings& given,
                                      const std::string& given_key) {
    const auto found = given.find(given_key);
    const bool is_given = found != given.end();
    const Origin origin = is_given ? found->second.origin : Origin{};
    const bool has_fallback = spec.kind != SettingKind::list && spec.kind != SettingKind::table &&
                              !(spec.kind == SettingKind::name && spec.fallback.empty());
    if (!is_given && spec.kind == SettingKind::table) return CheckedSetting{StringTable{}, origin};
    if (!is_given && !has_fallback) return std::nullopt;
    try {
      return CheckedSetting{checked(spec, is_given ? found->second.value : Untyped{std::string(spec.fallback)}),
                            origin};
    } catch (const std::invalid_argument& error) {
      problem(origin, fmt::format("{}.{}: {}", spec.section, spec.key, error.what()));
      return std::nullopt;
    }
  }

  void build_sections() {
    SettingValues values;
    for (const SettingSpec& spec : cluster_setting_specs()) {
      const std::string key = fmt::format("{}.{}", spec.section, spec.key);
      if (auto value = check(spec, given_.settings, key)) {
        config_.entries.push_back({key, shown(value->value), value->origin});
        values.emplace(key, std::move(value->value));
        origins_.emplace(key, std::move(value->origin));
      }
    }
    if (values.size() != cluster_setting_specs().size()) return;
    config_.name = std::get<std::string>(values.at("cluster.name"));
    config_.transport =
        std::get<std::string>(values.at("cluster.transport")) == "tcp" ? Transport::tcp : Transport::ipc;
    config_.port = static_cast<int>(std::get<std::int64_t>(values.at("cluster.port")));
    config_.port_origin = origins_.at("cluster.port");
    config_.address_origin = origins_.at("cluster.address");
    config_.network_origin = origins_.at("cluster.network");
    config_.result = std::get<std::string>(values.at("cluster.result"));
    config_.node = node_settings(values);
  }

  void build_role(const GivenRole& given) {
    CheckedSettings values;
    bool complete = true;
    for (const SettingSpec& spec : role_setting_specs()) {
      const std::string key(spec.key);
      if (auto value = check(spec, given.settings, key)) {
        values.emplace(key, std::move(*value));
      } else {
        complete = false;
        if (!given.settings.contains(key)) {
          problem(given.origin, fmt::format("role.{}: missing, e.g. {}", key,
                                            key == "name" ? "name = \"trainer\"" : "command = [\"./trainer\"]"));
        }
      }
    }
    if (!complete) return;
    RoleConfig role;
    role.name = std::get<std::string>(values.at("name").value);
    role.count = static_cast<int>(std::get<std::int64_t>(values.at("count").value));
    role.command = std::get<std::vector<std::string>>(values.at("command").value);
    role.env = std::get<StringTable>(values.at("env").value);
    role.working_dir = std::get<std::string>(values.at("working_dir").value);
    const bool keeps_going = std::get<std::string>(values.at("on_exit").value) == "keep_going";
    role.on_exit = keeps_going ? OnExit::keep_going : OnExit::stop_all;
    role.name_origin = values.at("name").origin;
    role.command_origin = values.at("command").origin;
    role.working_dir_origin = values.at("working_dir").origin;
    for (const SettingSpec& spec : role_setting_specs()) {
      const CheckedSetting& value = values.at(std::string(spec.key));
      config_.entries.push_back({fmt::format("role.{}.{}", role.name, spec.key), shown(value.value), value.origin});
    }
    config_.roles.push_back(std::move(role));
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
    std::vector<std::string> names;
    for (const RoleConfig& role : config_.roles) {
      for (int index = 0; index < role.count; ++index) names.push_back(node_name(role, index));
    }
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
    : std::runtime_error(fmt::format("{}", fmt::join(lines, "\n"))), lines_(std::move(lines)) {}

ClusterConfig load_config(const std::string& file, const Variables& variables, std::span<const std::string> overrides) {
  GivenConfig given = detail::read_config_file(file);
  detail::lay_over(given, variables);
  detail::lay_over(given, overrides);
  return Builder(file, std::move(given)).build();
}

std::string node_name(const RoleConfig& role, int index) {
  return role.count == 1 ? role.name : fmt::format("{}{}", role.name, index);
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
