#include "node/config/config_overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/did_you_mean.h"

namespace troupe::detail {
namespace {

constexpr std::string_view kPrefix = "TROUPE__";

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

/// Returns the name of a role or host as a part of a variable's name: "param-server" -> "param_server".
std::string as_variable(std::string_view name) {
  std::string result = lower(name);
  for (char& c : result) c = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_';
  return result;
}

std::string name_of(const GivenTable& table) {
  const auto name = table.settings.find("name");
  const auto* text = name == table.settings.end() ? nullptr : std::get_if<std::string>(&name->second.value);
  return text == nullptr ? std::string() : *text;
}

struct Override {
  std::string section;
  std::string name;  ///< only if the section is "role" or "host": which of them
  std::string key;
  std::string value;
  Origin origin;
};

/// Returns the section's tables if it is [[role]] or [[host]]; otherwise null.
std::vector<GivenTable>* tables_of(GivenConfig& config, std::string_view section) {
  if (section == "role") return &config.roles;
  return section == "host" ? &config.hosts : nullptr;
}

/// Returns false if the file could not be read that far, or a table of it has no name: that is a problem already.
bool are_all_named(const GivenConfig& config, const std::vector<GivenTable>& tables) {
  const auto is_of_file = [](const ConfigProblem& problem) { return problem.origin.layer == Origin::Layer::file; };
  if (tables.empty()) return std::none_of(config.problems.begin(), config.problems.end(), is_of_file);
  return std::none_of(tables.begin(), tables.end(), [](const GivenTable& table) { return name_of(table).empty(); });
}

void apply(GivenConfig& config, const Override& change, const std::function<std::string(std::string_view)>& spelled) {
  const auto problem = [&](std::string_view place, const std::string& what) {
    config.problems.push_back({change.origin, fmt::format("{}: {}", place, what)});
  };
  const auto specs = specs_of(change.section);
  if (specs.empty()) return problem(change.section, unknown_section(change.section));
  const auto has_key = [&](const SettingSpec& spec) { return spec.key == change.key; };
  if (std::none_of(specs.begin(), specs.end(), has_key)) {
    return problem(fmt::format("{}{}{}.{}", change.section, change.name.empty() ? "" : ".", change.name, change.key),
                   unknown_key(change.section, change.key));
  }
  const GivenSetting setting{Untyped{change.value}, change.origin};
  std::vector<GivenTable>* const tables = tables_of(config, change.section);
  if (tables == nullptr) {
    config.settings.insert_or_assign(fmt::format("{}.{}", change.section, change.key), setting);
    return;
  }
  std::vector<std::string> names;
  bool found = false;
  for (GivenTable& table : *tables) {
    names.push_back(spelled(name_of(table)));
    if (names.back() != change.name) continue;
    table.settings.insert_or_assign(change.key, setting);
    found = true;
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (!found && are_all_named(config, *tables)) {
    problem(change.section,
            fmt::format("no {} \"{}\"{}", change.section, change.name, did_you_mean(change.name, known)));
  }
}

}  // namespace

void lay_over(GivenConfig& config, const Variables& variables) {
  for (const auto& [name, value] : variables) {
    if (!name.starts_with(kPrefix)) continue;
    Override change;
    change.origin = {Origin::Layer::environment, name};
    change.value = value;
    const std::string rest = lower(std::string_view(name).substr(kPrefix.size()));
    const auto first = rest.find("__");
    const auto last = rest.rfind("__");
    change.section = rest.substr(0, first);
    if (first != std::string::npos) change.key = rest.substr(last + 2);
    if (first != last) change.name = rest.substr(first + 2, last - first - 2);
    if (first == std::string::npos || (tables_of(config, change.section) != nullptr) != (first != last)) {
      config.problems.push_back({change.origin,
                                 "expected TROUPE__SECTION__KEY, TROUPE__ROLE__<NAME>__KEY or "
                                 "TROUPE__HOST__<NAME>__KEY"});
      continue;
    }
    apply(config, change, as_variable);
  }
}

void lay_over(GivenConfig& config, std::span<const std::string> overrides) {
  for (const std::string& text : overrides) {
    Override change;
    change.origin.layer = Origin::Layer::command_line;
    const auto equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto first = name.find('.');
    const auto last = name.rfind('.');
    change.section = name.substr(0, first);
    const bool is_named = tables_of(config, change.section) != nullptr;
    if (equals == std::string::npos || first == std::string::npos || (is_named && first == last)) {
      config.problems.push_back(
          {change.origin, fmt::format("--set {}: expected section.key=value, role.<name>.<key>=value "
                                      "or host.<name>.<key>=value",
                                      text)});
      continue;
    }
    change.key = name.substr((is_named ? last : first) + 1);
    if (is_named) change.name = name.substr(first + 1, last - first - 1);
    change.value = text.substr(equals + 1);
    apply(config, change, [](std::string_view spelling) { return std::string(spelling); });
  }
}

}  // namespace troupe::detail
