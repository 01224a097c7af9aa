#include "node/hosts/agent_messages.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "node/hosts/agent_frames.h"

namespace nlohmann {

template <>
struct adl_serializer<std::chrono::milliseconds> {
  static void to_json(json& value, std::chrono::milliseconds time) { value = time.count(); }
  static void from_json(const json& value, std::chrono::milliseconds& time) {
    time = std::chrono::milliseconds(value.get<std::int64_t>());
  }
};

template <class T>
struct adl_serializer<std::optional<T>> {
  static void to_json(json& value, const std::optional<T>& message) {
    if (message) value = *message;
    else value = nullptr;
  }
  static void from_json(const json& value, std::optional<T>& message) {
    if (value.is_null()) message.reset();
    else message = value.get<T>();
  }
};

}  // namespace nlohmann

namespace troupe::detail {

// The keys of the JSON are the names of the fields.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AgentWelcome, version, host, cores)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AgentProgram, path, hash, size, copy)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AgentSeed, address, port, ports, toward)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AgentPrepare, cluster_id, network, lease, programs, seed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AgentPrepared, lacks, seed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AgentNode, name, program, arguments, working_dir, variables)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AgentStart, seed, address, math_threads, nodes, variables)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AgentStarted, pids)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AgentRefused, problems)

namespace {

/// Paths, arguments and variables may have bytes that are no UTF-8, and JSON has text only: such a cluster is refused.
std::string text_of(const nlohmann::json& value) {
  try {
    return value.dump();
  } catch (const std::exception& error) {
    throw AgentProtocolError(
        fmt::format("paths, arguments and variables for other hosts must be UTF-8: {}", error.what()));
  }
}

/// Texts of the system may have other bytes.
std::string printable_text_of(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string json_of(const AgentWelcome& message) { return printable_text_of(message); }
std::string json_of(const AgentPrepare& message) { return text_of(message); }
std::string json_of(const AgentPrepared& message) { return text_of(message); }
std::string json_of(const AgentStart& message) { return text_of(message); }
std::string json_of(const AgentStarted& message) { return text_of(message); }
std::string json_of(const AgentRefused& message) { return printable_text_of(message); }

template <class Message>
Message parse_body(std::string_view body) {
  try {
    return nlohmann::json::parse(body).get<Message>();
  } catch (const std::exception& error) {
    throw AgentProtocolError(fmt::format("a message that makes no sense: {}", error.what()));
  }
}

template AgentWelcome parse_body(std::string_view);
template AgentPrepare parse_body(std::string_view);
template AgentPrepared parse_body(std::string_view);
template AgentStart parse_body(std::string_view);
template AgentStarted parse_body(std::string_view);
template AgentRefused parse_body(std::string_view);

}  // namespace troupe::detail
