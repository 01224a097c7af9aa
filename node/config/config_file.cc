#include "node/config/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "messages/did_you_mean.h"

namespace troupe::detail {
namespace {

constexpr std::array<std::string_view, 6> kSections = {"cluster", "node", "pool", "peer", "role", "host"};

constexpr std::size_t kDotsMax = 32;  // of a line; "env.NAME" has one

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a number with a fraction";
    case toml::node_type::boolean: return "a boolean";
    case toml::node_type::date: return "a date";
    case toml::node_type::time: return "a time";
    case toml::node_type::date_time: return "a date and time";
    case toml::node_type::none: break;
  }
  return "nothing";
}

RawSetting raw_array(const toml::array& array) {
  std::vector<std::string> items;
  for (const toml::node& item : array) {
    if (!item.is_string()) return Misfit{fmt::format("an array with {} in it", type_name(item))};
    items.push_back(item.ref<std::string>());
  }
  return items;
}

RawSetting raw_table(const toml::table& table) {
  StringTable items;
  for (const auto& [key, item] : table) {
    if (!item.is_string()) return Misfit{fmt::format("{} for {}", type_name(item), key.str())};
    items.emplace(key.str(), item.ref<std::string>());
  }
  return items;
}

RawSetting raw(const toml::node& node) {
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_array()) return raw_array(*value);
  if (const auto* value = node.as_table()) return raw_table(*value);
  if (const auto* value = node.as_boolean()) return value->get();
  return Misfit{std::string(type_name(node))};
}

/// Returns the quotes that `text` begins with: one, or three of a string of several lines.
std::string_view opening_quote(std::string_view text) {
  const std::string_view three = text.substr(0, 3);
  return three == R"(""")" || three == "'''" ? three : text.substr(0, 1);
}

/// Returns the first line with more than kDotsMax dots outside of strings and comments; 0 if there is none. toml++
/// calls itself for each table of a dotted key.
unsigned line_of_deep_key(std::string_view text) {
  unsigned line = 1;
  std::size_t dots = 0;
  std::string_view quote;  // of the string around `at`
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\n') {
      ++line;
      ++at;
      dots = 0;
      if (quote.size() == 1) quote = {};  // an error, at which toml++ ends
    } else if (quote.empty() && c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (quote.empty() && (c == '"' || c == '\'')) {
      quote = opening_quote(text.substr(at));
      at += quote.size();
    } else if (quote.empty()) {
      if (c == '.' && ++dots > kDotsMax) return line;
      ++at;
    } else if (c == '\\' && quote.front() == '"') {
      at += text.substr(at + 1).starts_with('\n') ? 1 : 2;
    } else if (text.substr(at).starts_with(quote)) {
      at += quote.size();
      // Three quotes may have two more before them, which are the string's.
      for (int more = 0; quote.size() == 3 && more < 2 && text.substr(at).starts_with(quote.front()); ++more) ++at;
      quote = {};
    } else {
      ++at;
    }
  }
  return 0;
}

/// Returns the `number`-th line, counted from 1; "" if there are fewer.
std::string_view line_of(std::string_view text, unsigned number) {
  for (; number > 1 && !text.empty(); --number) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

/// Returns what the parser says, and what is wrong most often: `name = demo`. The value is not shown, it may be secret.
std::string told(const toml::parse_error& error, std::string_view text) {
  const std::string_view description = error.description();
  const std::string_view line = line_of(text, error.source().begin.line);
  const auto equals = line.find('=');
  if (!description.starts_with("Error while parsing value") || equals == std::string_view::npos)
    return std::string(description);
  return fmt::format(R"({}; after "{}": text stands in quotes)", description, line.substr(0, equals + 1));
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  GivenConfig read() && {
    std::error_code ignored;
    errno = std::filesystem::is_directory(file_, ignored) ? EISDIR : 0;
    std::ifstream stream(file_);
    if (errno != 0 || !stream) {
      problem(place(0), fmt::format("cannot read: {}", std::strerror(errno == 0 ? EIO : errno)));
      return std::move(result_);
    }
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (const unsigned line = line_of_deep_key(text); line != 0) {
      problem(place(line), fmt::format("a key with more than {} dots", kDotsMax));
      return std::move(result_);
    }
    try {
      read(toml::parse(std::string_view(text), file_));
    } catch (const toml::parse_error& error) {
      problem(place(error.source().begin.line), told(error, text));
    }
    return std::move(result_);
  }

 private:
  Origin place(unsigned line) const {
    const std::string_view file = file_.empty() ? R"("")" : std::string_view(file_);
    return {Origin::Layer::file, line == 0 ? std::string(file) : fmt::format("{}:{}", file, line), line};
  }
  Origin place(const toml::key& key) const { return place(key.source().begin.line); }

  void problem(const Origin& origin, std::string what) { result_.problems.push_back({origin, std::move(what)}); }

  void read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      const std::string_view section = key.str();
      if (section == "role") {
        read_tables(key, node, result_.roles);
      } else if (section == "host") {
        read_tables(key, node, result_.hosts);
      } else if (std::find(kSections.begin(), kSections.end(), section) == kSections.end()) {
        problem(place(key), fmt::format("{}: {}", section,
                                        node.is_table() || node.is_array() ? unknown_section(section)
                                                                           : "a key outside of any section"));
      } else if (const auto* table = node.as_table()) {
        for (auto& [name, setting] : read_keys(*table, section)) {
          result_.settings.emplace(fmt::format("{}.{}", section, name), std::move(setting));
        }
      } else {
        problem(place(key), fmt::format("{}: expected the section [{}], found {}", section, section, type_name(node)));
      }
    }
  }

  /// Reads [[role]] or [[host]], as `key` says.
  void read_tables(const toml::key& key, const toml::node& node, std::vector<GivenTable>& tables) {
    const std::string_view section = key.str();
    const auto* array = node.as_array();
    const auto is_table = [](const toml::node& item) { return item.is_table(); };
    if (array == nullptr || !std::all_of(array->begin(), array->end(), is_table)) {
      problem(place(key), fmt::format("{0}: expected [[{0}]], found {1}", section,
                                      node.is_table() ? fmt::format("[{}]", section) : type_name(node)));
      return;
    }
    for (const toml::node& item : *array) {
      tables.push_back({place(item.source().begin.line), read_keys(*item.as_table(), section)});
    }
  }

  GivenSettings read_keys(const toml::table& table, std::string_view section) {
    GivenSettings settings;
    const auto specs = specs_of(section);
    for (const auto& [key, node] : table) {
      const std::string_view name = key.str();
      if (std::any_of(specs.begin(), specs.end(), [&](const SettingSpec& spec) { return spec.key == name; })) {
        settings.emplace(name, GivenSetting{raw(node), place(key)});
      } else {
        problem(place(key), fmt::format("{}.{}: {}", section, name, unknown_key(section, name)));
      }
    }
    return settings;
  }

  const std::string& file_;
  GivenConfig result_;
};

}  // namespace

GivenConfig read_config_file(const std::string& file) { return Reader(file).read(); }

std::string unknown_section(std::string_view section) {
  return fmt::format("unknown section{}", did_you_mean(section, kSections));
}

std::string unknown_key(std::string_view section, std::string_view key) {
  std::vector<std::string_view> known;
  for (const SettingSpec& spec : specs_of(section)) known.push_back(spec.key);
  const std::string guess = did_you_mean(key, known);
  if (!guess.empty()) return "unknown key" + guess;
  return fmt::format("unknown key; there are {}", fmt::join(known, ", "));
}

std::vector<SettingSpec> specs_of(std::string_view section) {
  std::vector<SettingSpec> specs;
  const auto collect = [&](std::span<const SettingSpec> from) {
    std::copy_if(from.begin(), from.end(), std::back_inserter(specs),
                 [&](const SettingSpec& spec) { return spec.section == section; });
  };
  collect(cluster_setting_specs());
  collect(role_setting_specs());
  collect(host_setting_specs());
  return specs;
}

}  // namespace troupe::detail
