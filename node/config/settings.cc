#include "node/config/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "messages/did_you_mean.h"
#include "node/config/string_array.h"
#include "node/node_name.h"
#include "node/visible_text.h"

namespace troupe {
namespace {

using enum SettingKind;

struct DurationUnit {
  std::string_view suffix;
  std::int64_t milliseconds;
};
constexpr std::array kUnits = {DurationUnit{"ms", 1}, DurationUnit{"s", 1000}, DurationUnit{"m", 60'000},
                               DurationUnit{"h", 3'600'000}};
constexpr std::int64_t kDurationMax = 24 * 3'600'000;

struct SizeUnit {
  std::string_view suffix;
  std::int64_t bytes;
};
constexpr std::array kSizeUnits = {SizeUnit{"GiB", std::int64_t{1} << 30}, SizeUnit{"MiB", std::int64_t{1} << 20},
                                   SizeUnit{"KiB", std::int64_t{1} << 10}, SizeUnit{"B", 1}};
constexpr std::int64_t kSizeMax = std::int64_t{1} << 40;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kCountMax = 1'000'000'000;

constexpr std::array kClusterSpecs = {
    SettingSpec{"cluster", "name", name, "troupe", "name of the cluster"},
    SettingSpec{.section = "cluster",
                .key = "transport",
                .kind = choice,
                .fallback = "ipc",
                .about = "how nodes reach each other; tcp with several hosts",
                .choices = "ipc, tcp"},
    SettingSpec{"cluster", "port", integer, "0", "tcp port of the first node; 0 = any free one", 0, 65535},
    SettingSpec{.section = "cluster",
                .key = "network",
                .kind = choice,
                .fallback = "auto",
                .about = "tcp with loopback: this machine; keys: others, encrypted; trusted: others, unencrypted",
                .choices = "auto, loopback, keys, trusted"},
    SettingSpec{
        "cluster", "address", text, "",
        "host or interface where nodes listen over tcp; default: 127.0.0.1, on several hosts toward the first node"},
    SettingSpec{"cluster", "seed", text, "",
                "with key files (`troupe node --keys`): host of the first node; its port is cluster.port"},
    SettingSpec{"cluster", "join_port", integer, "0",
                "tcp port of the first node for newcomers that no list has; 0 = none: `troupe node --keys`", 0, 65535},
    SettingSpec{"cluster", "grows", boolean, "false", "nodes that are not in this file may join later"},
    SettingSpec{"cluster", "ports", text, "", "LOW-HIGH: tcp and udp ports of nodes; default: any free one"},
    SettingSpec{"cluster", "stream_ports", text, "",
                "LOW-HIGH: tcp ports for large messages; default: any free one, or none if cluster.ports is set"},
    SettingSpec{"cluster", "advertise", text, "", "HOST or HOST:PORT that others are told instead of cluster.address"},
    SettingSpec{"cluster", "join_timeout", duration, "30s", "until all nodes must know each other", 1, kDurationMax},
    SettingSpec{"cluster", "shutdown_timeout", duration, "10s", "for a node to end once `troupe up` has asked it to", 1,
                kDurationMax},
    SettingSpec{.section = "cluster",
                .key = "heartbeat",
                .kind = duration,
                .fallback = "100ms",
                .about = "between two heartbeats, at least",
                .min = 10,
                .max = 10'000,
                .between_machines = "200ms"},
    SettingSpec{.section = "cluster",
                .key = "suspicion",
                .kind = duration,
                .fallback = "200ms",
                .about = "silence beyond a heartbeat, then unreachable",
                .min = 10,
                .max = 60'000,
                .between_machines = "800ms"},
    SettingSpec{"cluster", "lease", duration, "10s", "silence after which a node is considered dead", 1'000,
                kDurationMax},
    SettingSpec{"cluster", "debug", boolean, "false", "silence has no consequences: nodes may stop in a debugger"},
    SettingSpec{"cluster", "result", text, "", "node whose last line is repeated at the very end"},
    SettingSpec{"cluster", "copy", boolean, "false", "copy programs to hosts that lack them or have others"},
    SettingSpec{"node", "stall_limit", duration, "30s", "a node that is stuck for so long ends", 1'000, kDurationMax},
    SettingSpec{"node", "math_threads", integer, "0", "threads for maths; 0 = cores / processes", 0, 1024},
    SettingSpec{"node", "shared_memory_max", size, "2GiB",
                "of large tensors that peers on the host read in place; 0B: none", 0, kSizeMax},
    SettingSpec{"node", "rings", boolean, "true", "small messages between processes of a host take shared memory"},
    SettingSpec{"node", "streams", boolean, "true", "large messages over tcp have connections of their own"},
    SettingSpec{"node", "spin", boolean, "true",
                "threads that wait for small messages look for 200 us before they sleep"},
    SettingSpec{"node", "confined", boolean, "false", "the process may start no program and reach into no other"},
    SettingSpec{"node", "audit_log", text, "", "directory where each node logs peers that join, leave or are refused"},
    SettingSpec{.section = "node",
                .key = "log_level",
                .kind = choice,
                .fallback = "info",
                .about = "least severe message that is logged",
                .choices = "trace, debug, info, warn, error, off"},
    SettingSpec{.section = "node",
                .key = "leaks",
                .kind = choice,
                .fallback = "warn",
                .about = "references that a program still holds at the common end",
                .choices = "warn, fail"},
    SettingSpec{"pool", "threads", integer, "0", "kept ready for user functions; 0 = one per core", 0, 4096},
    SettingSpec{"pool", "threads_max", integer, "2048", "bound of the pool's growth", 1, 65536},
    SettingSpec{"peer", "waiting_calls_max", integer, "200000", "calls to one peer that have not left", 1, kCountMax},
    SettingSpec{"peer", "waiting_bytes_max", size, "1GiB",
                "of calls to one peer that have not left; one larger call is still taken", kMiB, kSizeMax},
    SettingSpec{"peer", "calls_max", integer, "1024", "calls of one peer that have not started; more wait at the peer",
                64, kCountMax},
    SettingSpec{"peer", "nested_calls_max", integer, "256", "likewise, made inside served functions", 16, kCountMax},
    SettingSpec{"peer", "bulk_bytes_max", size, "64MiB", "of one peer's large messages; more wait there", 2 * kMiB,
                kSizeMax},
    SettingSpec{"peer", "answer_bytes_max", size, "256MiB", "answers one peer has not taken; then its calls wait", kMiB,
                kSizeMax},
    SettingSpec{"peer", "owners_max", integer, "1000000", "values here that one peer made", 1, kCountMax},
    SettingSpec{"peer", "forks_max", integer, "1000000", "handles of values here that one peer holds", 1, kCountMax},
    SettingSpec{"peer", "contexts_max", integer, "100000", "autograd contexts that one peer brought here", 1,
                kCountMax},
    SettingSpec{"peer", "shards_max", integer, "10000", "shards here of optimizers that one peer made", 1, kCountMax},
};

/// The keys of [peer] and the fields that they set.
struct PeerKey {
  std::string_view key;
  SettingKind kind;
  std::size_t PeerLimits::*field;
};
constexpr std::array kPeerKeys = {
    PeerKey{"waiting_calls_max", integer, &PeerLimits::waiting_calls_max},
    PeerKey{"waiting_bytes_max", size, &PeerLimits::waiting_bytes_max},
    PeerKey{"calls_max", integer, &PeerLimits::calls_max},
    PeerKey{"nested_calls_max", integer, &PeerLimits::nested_calls_max},
    PeerKey{"bulk_bytes_max", size, &PeerLimits::bulk_bytes_max},
    PeerKey{"answer_bytes_max", size, &PeerLimits::answer_bytes_max},
    PeerKey{"owners_max", integer, &PeerLimits::owners_max},
    PeerKey{"forks_max", integer, &PeerLimits::forks_max},
    PeerKey{"contexts_max", integer, &PeerLimits::contexts_max},
    PeerKey{"shards_max", integer, &PeerLimits::shards_max},
};

constexpr std::array kRoleSpecs = {
    SettingSpec{.section = "role",
                .key = "name",
                .kind = name,
                .about = "name of the role and, with an index, of its nodes",
                .required = true},
    SettingSpec{"role", "count", integer, "1", "how many processes", 1, 1024},
    SettingSpec{.section = "role", .key = "command", .kind = list, .about = "program and arguments", .required = true},
    SettingSpec{"role", "env", table, "", "environment variables added for its processes"},
    SettingSpec{"role", "calls", table, "",
                "which roles or nodes may call which of its functions; default: all may call all"},
    SettingSpec{"role", "working_dir", text, "", "relative to the file; default: where troupe was started"},
    SettingSpec{.section = "role",
                .key = "on_exit",
                .kind = choice,
                .fallback = "stop_all",
                .about = "what a failure means for the others",
                .choices = "stop_all, keep_going"},
    SettingSpec{"role", "hosts", list, "", "the hosts that may run it; default: all"},
    SettingSpec{.section = "role",
                .key = "placement",
                .kind = choice,
                .fallback = "spread",
                .about = "onto hosts: evenly, filling one after the other, or `count` on each",
                .choices = "spread, pack, per_host"},
};

constexpr std::array kHostSpecs = {
    SettingSpec{.section = "host", .key = "name", .kind = name, .about = "name of the host", .required = true},
    SettingSpec{"host", "ssh", text, "", "[USER@]HOST to which ssh connects; default: the name"},
    SettingSpec{"host", "local", boolean, "false", "the machine where troupe was started: no ssh"},
    SettingSpec{"host", "agent", list, "", "program and arguments that run `troupe agent` there, instead of ssh"},
    SettingSpec{"host", "troupe", text, "troupe", "the program troupe there: a path, or a name on PATH"},
    SettingSpec{"host", "address", text, "", "host or interface where nodes listen; default: toward the first node"},
    SettingSpec{"host", "slots", integer, "0", "most processes placed there; 0 = any number", 0, 1024},
    SettingSpec{"host", "gpus", integer, "0", "GPUs that its processes take in turn; 0 = they see what the host has", 0,
                64},
    SettingSpec{"host", "working_dir", text, "", "where programs are looked for and run; default: the same as here"},
    SettingSpec{"host", "env", table, "", "environment variables added for processes there"},
};

constexpr std::int64_t kCountLimit = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> parse_integer(std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text_form) {
  for (const DurationUnit& unit : kUnits) {
    if (!text_form.ends_with(unit.suffix)) continue;
    const auto count = parse_integer(text_form.substr(0, text_form.size() - unit.suffix.size()));
    if (count && *count > 0 && *count <= kCountLimit / unit.milliseconds) {
      return std::chrono::milliseconds(*count * unit.milliseconds);
    }
  }
  return std::nullopt;
}

std::optional<ByteSize> parse_size(std::string_view text_form) {
  for (const SizeUnit& unit : kSizeUnits) {
    if (!text_form.ends_with(unit.suffix)) continue;
    const auto count = parse_integer(text_form.substr(0, text_form.size() - unit.suffix.size()));
    if (!count || *count < 0 || *count > kCountLimit / unit.bytes) return std::nullopt;
    return ByteSize{*count * unit.bytes};
  }
  return std::nullopt;
}

struct Describe {
  std::string operator()(const Untyped& raw) const { return fmt::format("\"{}\"", raw.text); }
  std::string operator()(std::int64_t raw) const { return fmt::format("integer {}", raw); }
  std::string operator()(bool raw) const { return fmt::format("boolean {}", raw); }
  std::string operator()(const std::string& raw) const { return fmt::format("string \"{}\"", raw); }
  std::string operator()(const std::vector<std::string>&) const { return "an array of strings"; }
  std::string operator()(const StringTable&) const { return "a table"; }
  std::string operator()(const Misfit& raw) const { return raw.what; }
};

/// Throws. A zero byte of a value would end the text of an exception.
[[noreturn]] void refuse_text(std::string_view why) { throw std::invalid_argument(detail::visible_text(why)); }

[[noreturn]] void refuse(std::string_view expected, const RawSetting& raw) {
  refuse_text(fmt::format("expected {}, found {}", expected, std::visit(Describe{}, raw)));
}

std::int64_t checked_integer(const SettingSpec& spec, const RawSetting& raw) {
  std::optional<std::int64_t> value;
  if (const auto* typed = std::get_if<std::int64_t>(&raw)) value = *typed;
  if (const auto* untyped = std::get_if<Untyped>(&raw)) value = parse_integer(untyped->text);
  if (!value) refuse("an integer", raw);
  if (*value < spec.min || *value > spec.max) {
    throw std::invalid_argument(fmt::format("{} is not in {}..{}", *value, spec.min, spec.max));
  }
  return *value;
}

bool checked_boolean(const RawSetting& raw) {
  if (const auto* typed = std::get_if<bool>(&raw)) return *typed;
  const auto* untyped = std::get_if<Untyped>(&raw);
  if (untyped == nullptr || (untyped->text != "true" && untyped->text != "false")) refuse("true or false", raw);
  return untyped->text == "true";
}

/// Returns the text of a textual setting; nullopt for any other type.
std::optional<std::string> text_of(const RawSetting& raw) {
  if (const auto* typed = std::get_if<std::string>(&raw)) return *typed;
  if (const auto* untyped = std::get_if<Untyped>(&raw)) return untyped->text;
  return std::nullopt;
}

std::string checked_choice(const SettingSpec& spec, const RawSetting& raw) {
  const auto value = text_of(raw);
  if (!value) refuse(fmt::format("one of {}", spec.choices), raw);
  std::vector<std::string_view> choices;
  for (std::string_view rest = spec.choices; !rest.empty();) {
    choices.push_back(rest.substr(0, rest.find(", ")));
    rest.remove_prefix(std::min(rest.size(), choices.back().size() + 2));
  }
  if (std::find(choices.begin(), choices.end(), *value) == choices.end()) {
    refuse_text(fmt::format("\"{}\" is not one of {}{}", *value, spec.choices, did_you_mean(*value, choices)));
  }
  return *value;
}

std::string checked_text(const RawSetting& raw) {
  const auto value = text_of(raw);
  if (!value) refuse("a string", raw);
  if (value->find('\0') != std::string::npos) throw std::invalid_argument("a zero byte in a string");
  return *value;
}

std::string checked_name(const RawSetting& raw) {
  std::string value = checked_text(raw);
  if (!is_valid_configured_name(value)) {
    throw std::invalid_argument(fmt::format("\"{}\" is not a name: {}", value, kConfiguredNameRule));
  }
  return value;
}

std::vector<std::string> checked_list(const SettingSpec& spec, const RawSetting& raw) {
  constexpr std::string_view kExpected = R"(an array of strings such as ["./ps", "--fast"])";
  std::vector<std::string> items;
  if (const auto* typed = std::get_if<std::vector<std::string>>(&raw)) {
    items = *typed;
  } else if (const auto* untyped = std::get_if<Untyped>(&raw)) {
    auto parsed = detail::parse_string_array(untyped->text);
    if (!parsed) refuse(kExpected, raw);
    items = std::move(*parsed);
  } else {
    refuse(kExpected, raw);
  }
  if (items.empty() && !spec.required) return items;
  if (items.empty() || items.front().empty()) throw std::invalid_argument("is empty");
  for (const std::string& item : items) {
    if (item.find('\0') != std::string::npos) throw std::invalid_argument("a zero byte in a string");
  }
  return items;
}

StringTable checked_table(const RawSetting& raw) {
  constexpr std::string_view kUsersOwn = "TROUPE_MAX_CPU_ISA";
  const auto* typed = std::get_if<StringTable>(&raw);
  if (std::holds_alternative<Untyped>(raw)) throw std::invalid_argument("is a table, which only the file can set");
  if (typed == nullptr) refuse(R"(a table of strings such as {KEY = "value"})", raw);
  for (const auto& [key, value] : *typed) {
    if (key.empty() || key.find('=') != std::string::npos || (key + value).find('\0') != std::string::npos) {
      refuse_text(fmt::format("\"{}\" cannot be an environment variable", key));
    }
    if (key.starts_with("TROUPE_") && key != kUsersOwn)
      throw std::invalid_argument(fmt::format("{} is set by troupe itself", key));
  }
  return *typed;
}

/// Returns `raw` as a string of TOML, without a character that commands a terminal.
std::string in_quotes(std::string_view raw) {
  std::string result = "\"";
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const auto byte = static_cast<unsigned char>(raw[i]);
    const auto next = static_cast<unsigned char>(i + 1 < raw.size() ? raw[i + 1] : 0);
    if (byte == '"' || byte == '\\') result += '\\';
    if (byte == '\n') {
      result += "\\n";
    } else if (byte < ' ' || byte == 0x7f) {
      result += fmt::format("\\u{:04x}", byte);
    } else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {  // a control character of two bytes in UTF-8
      result += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      result += raw[i];
    }
  }
  return result + '"';
}

/// Returns `raw` as a key of TOML.
std::string as_key(std::string_view raw) {
  const auto is_bare = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !raw.empty() && std::ranges::all_of(raw, is_bare) ? std::string(raw) : in_quotes(raw);
}

struct Show {
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(bool value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return in_quotes(value); }
  std::string operator()(std::chrono::milliseconds value) const {
    for (auto unit = kUnits.rbegin(); unit != kUnits.rend(); ++unit) {
      if (value.count() % unit->milliseconds == 0) {
        return fmt::format("\"{}{}\"", value.count() / unit->milliseconds, unit->suffix);
      }
    }
    return {};
  }
  std::string operator()(ByteSize value) const {
    const auto unit =
        std::ranges::find_if(kSizeUnits, [&](const SizeUnit& each) { return value.bytes % each.bytes == 0; });
    return fmt::format("\"{}{}\"", value.bytes / unit->bytes, unit->suffix);
  }
  std::string operator()(const std::vector<std::string>& value) const {
    std::vector<std::string> items;
    for (const std::string& item : value) items.push_back(in_quotes(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  std::string operator()(const StringTable& value) const {
    std::vector<std::string> items;
    for (const auto& [key, item] : value) items.push_back(fmt::format("{} = {}", as_key(key), in_quotes(item)));
    return fmt::format("{{{}}}", fmt::join(items, ", "));
  }
};

std::chrono::milliseconds checked_duration(const SettingSpec& spec, const RawSetting& raw) {
  const auto value = text_of(raw);
  const auto parsed = value ? parse_duration(*value) : std::nullopt;
  if (!parsed) refuse(R"(a duration such as "500ms", "30s" or "2m")", raw);
  if (spec.max != 0 && (parsed->count() < spec.min || parsed->count() > spec.max)) {
    const auto text_of_ms = [](std::int64_t ms) { return Show{}(std::chrono::milliseconds(ms)); };
    throw std::invalid_argument(
        fmt::format("{} is not in {}..{}", Show{}(*parsed), text_of_ms(spec.min), text_of_ms(spec.max)));
  }
  return *parsed;
}

ByteSize checked_size(const SettingSpec& spec, const RawSetting& raw) {
  const auto value = text_of(raw);
  const auto parsed = value ? parse_size(*value) : std::nullopt;
  if (!parsed) refuse(R"(a size such as "512KiB", "64MiB" or "1GiB")", raw);
  if (spec.max != 0 && (parsed->bytes < spec.min || parsed->bytes > spec.max)) {
    const Show show;
    throw std::invalid_argument(
        fmt::format("{} is not in {}..{}", show(*parsed), show(ByteSize{spec.min}), show(ByteSize{spec.max})));
  }
  return *parsed;
}

}  // namespace

Variables process_variables() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view pair = *entry;
    const auto equals = pair.find('=');
    if (equals != std::string_view::npos) variables.emplace(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return variables;
}

std::string Origin::text() const {
  switch (layer) {
    case Layer::built_in: return place.empty() ? "built-in default" : "built-in default " + place;
    case Layer::file: return place;
    case Layer::environment: return "environment " + place;
    case Layer::command_line: return "command line";
  }
  return {};
}

std::span<const SettingSpec> cluster_setting_specs() { return kClusterSpecs; }

std::span<const SettingSpec> role_setting_specs() { return kRoleSpecs; }

std::span<const SettingSpec> host_setting_specs() { return kHostSpecs; }

SettingValue checked(const SettingSpec& spec, const RawSetting& raw) {
  switch (spec.kind) {
    case integer: return checked_integer(spec, raw);
    case boolean: return checked_boolean(raw);
    case text: return checked_text(raw);
    case choice: return checked_choice(spec, raw);
    case name: return checked_name(raw);
    case list: return checked_list(spec, raw);
    case table: return checked_table(raw);
    case size: return checked_size(spec, raw);
    case duration: break;
  }
  return checked_duration(spec, raw);
}

SettingValue fallback_of(const SettingSpec& spec) {
  if (!spec.between_machines.empty()) return std::chrono::milliseconds{0};
  return checked(spec, Untyped{std::string(spec.fallback)});
}

std::string shown(const SettingValue& value) { return std::visit(Show{}, value); }

NodeSettings node_settings(const SettingValues& values) {
  const auto number = [&](std::string_view key) {
    return static_cast<int>(std::get<std::int64_t>(values.find(key)->second));
  };
  const auto time = [&](std::string_view key) { return std::get<std::chrono::milliseconds>(values.find(key)->second); };
  NodeSettings settings;
  settings.join_timeout = time("cluster.join_timeout");
  settings.shutdown_timeout = time("cluster.shutdown_timeout");
  const auto word = [&](std::string_view key) { return std::get<std::string>(values.find(key)->second); };
  settings.network = word("cluster.network");
  settings.address = word("cluster.address");
  settings.ports = word("cluster.ports");
  settings.stream_ports = word("cluster.stream_ports");
  settings.join_port = number("cluster.join_port");
  settings.grows = std::get<bool>(values.find("cluster.grows")->second);
  settings.advertise = word("cluster.advertise");
  settings.heartbeat = time("cluster.heartbeat");
  settings.suspicion = time("cluster.suspicion");
  settings.lease = time("cluster.lease");
  settings.debug = std::get<bool>(values.find("cluster.debug")->second);
  settings.stall_limit = time("node.stall_limit");
  settings.math_threads = number("node.math_threads");
  settings.shared_memory_max =
      static_cast<std::size_t>(std::get<ByteSize>(values.find("node.shared_memory_max")->second).bytes);
  settings.rings = std::get<bool>(values.find("node.rings")->second);
  settings.streams = std::get<bool>(values.find("node.streams")->second);
  settings.spin = std::get<bool>(values.find("node.spin")->second);
  settings.confined = std::get<bool>(values.find("node.confined")->second);
  settings.audit_log = word("node.audit_log");
  settings.log_level = word("node.log_level");
  settings.leaks = word("node.leaks");
  settings.pool_threads = number("pool.threads");
  settings.pool_threads_max = number("pool.threads_max");
  for (const PeerKey& each : kPeerKeys) {
    const SettingValue& value = values.find(fmt::format("peer.{}", each.key))->second;
    const auto* bytes = std::get_if<ByteSize>(&value);
    settings.peer.*each.field =
        static_cast<std::size_t>(bytes != nullptr ? bytes->bytes : std::get<std::int64_t>(value));
  }
  return settings;
}

Variables as_variables(const NodeSettings& settings) {
  Variables variables{
      {variable_name("cluster", "join_timeout"), fmt::format("{}ms", settings.join_timeout.count())},
      {variable_name("cluster", "shutdown_timeout"), fmt::format("{}ms", settings.shutdown_timeout.count())},
      {variable_name("cluster", "network"), settings.network},
      {variable_name("cluster", "address"), settings.address},
      {variable_name("cluster", "ports"), settings.ports},
      {variable_name("cluster", "stream_ports"), settings.stream_ports},
      {variable_name("cluster", "join_port"), fmt::format("{}", settings.join_port)},
      {variable_name("cluster", "grows"), fmt::format("{}", settings.grows)},
      {variable_name("cluster", "advertise"), settings.advertise},
      {variable_name("cluster", "lease"), fmt::format("{}ms", settings.lease.count())},
      {variable_name("cluster", "debug"), fmt::format("{}", settings.debug)},
      {variable_name("node", "stall_limit"), fmt::format("{}ms", settings.stall_limit.count())},
      {variable_name("node", "math_threads"), fmt::format("{}", settings.math_threads)},
      {variable_name("node", "shared_memory_max"), fmt::format("{}B", settings.shared_memory_max)},
      {variable_name("node", "rings"), fmt::format("{}", settings.rings)},
      {variable_name("node", "streams"), fmt::format("{}", settings.streams)},
      {variable_name("node", "spin"), fmt::format("{}", settings.spin)},
      {variable_name("node", "confined"), fmt::format("{}", settings.confined)},
      {variable_name("node", "audit_log"), settings.audit_log},
      {variable_name("node", "log_level"), settings.log_level},
      {variable_name("node", "leaks"), settings.leaks},
      {variable_name("pool", "threads"), fmt::format("{}", settings.pool_threads)},
      {variable_name("pool", "threads_max"), fmt::format("{}", settings.pool_threads_max)},
  };
  for (const auto& [key, time] : {std::pair("heartbeat", settings.heartbeat), {"suspicion", settings.suspicion}}) {
    if (time.count() != 0) variables.emplace(variable_name("cluster", key), fmt::format("{}ms", time.count()));
  }
  for (const PeerKey& each : kPeerKeys) {
    const std::string_view unit = each.kind == size ? "B" : "";
    variables.emplace(variable_name("peer", each.key), fmt::format("{}{}", settings.peer.*each.field, unit));
  }
  return variables;
}

std::string variable_name(std::string_view section, std::string_view key) {
  std::string result = fmt::format("TROUPE__{}__{}", section, key);
  for (char& c : result) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return result;
}

}  // namespace troupe
