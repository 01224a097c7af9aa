#include "node/doctor/doctor_messages.h"

#include <fmt/format.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "node/hosts/agent_frames.h"
#include "node/links/socket_address.h"

namespace troupe::detail {
namespace {

using nlohmann::json;

constexpr std::size_t kTextMax = 1024;
constexpr std::size_t kNamesMax = 4096;

[[noreturn]] void refuse(std::string_view what) {
  throw AgentProtocolError(fmt::format("a message that makes no sense: {}", what));
}

json parsed(std::string_view body) {
  try {
    return json::parse(body);
  } catch (const std::exception& error) {
    refuse(error.what());
  }
}

/// Texts of the system may have bytes that are no UTF-8.
std::string dumped(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

const json& field(const json& object, const char* key) {
  const auto found = object.find(key);  // end() for what is no object
  if (found == object.end()) refuse(fmt::format("there is no {}", key));
  return *found;
}

std::string text_of(const json& value, const char* key) {
  if (!value.is_string()) refuse(fmt::format("{} is no text", key));
  std::string text = value.get<std::string>();
  if (text.size() > kTextMax) refuse(fmt::format("{} has {} bytes", key, text.size()));
  return text;
}

std::string text_in(const json& object, const char* key) { return text_of(field(object, key), key); }

bool flag_in(const json& object, const char* key) {
  const json& value = field(object, key);
  if (!value.is_boolean()) refuse(fmt::format("{} is neither true nor false", key));
  return value.get<bool>();
}

std::uint64_t number_in(const json& object, const char* key, std::uint64_t max = kNoLimit) {
  const json& value = field(object, key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > max) {
    refuse(fmt::format("{} is no number of 0 to {}", key, max));
  }
  return value.get<std::uint64_t>();
}

std::uint16_t port_in(const json& object, const char* key) {
  return static_cast<std::uint16_t>(number_in(object, key, 65535));
}

std::string token_in(const json& object) {
  std::string token = text_in(object, "token");
  if (token.size() != kTokenSize) refuse(fmt::format("a token of {} characters", token.size()));
  return token;
}

const json& list_in(const json& object, const char* key, std::size_t max) {
  const json& value = field(object, key);
  if (!value.is_array() || value.size() > max) refuse(fmt::format("{} is no list of {} at most", key, max));
  return value;
}

json json_from(const PortCount& count) { return {{"tried", count.tried}, {"free", count.free}}; }

PortCount count_in(const json& object, const char* key) {
  const json& value = field(object, key);
  const std::uint64_t tried = number_in(value, "tried", 65535);
  return {tried, number_in(value, "free", tried)};
}

json json_from(const ReachEnd& end) {
  return {{"outcome", static_cast<unsigned>(end.outcome)}, {"text", end.text}, {"microseconds", end.microseconds}};
}

ReachEnd end_in(const json& object, const char* key) {
  const json& value = field(object, key);
  const auto outcome = number_in(value, "outcome", static_cast<std::uint64_t>(ReachOutcome::failed));
  return {static_cast<ReachOutcome>(outcome), text_in(value, "text"), number_in(value, "microseconds", 1ULL << 40)};
}

}  // namespace

std::string json_of(const HostFacts& message) {
  return dumped({{"system", message.system},
                 {"cores", message.cores},
                 {"memory", message.memory},
                 {"memory_free", message.memory_free},
                 {"shared", message.shared},
                 {"shared_free", message.shared_free},
                 {"descriptors_max", message.descriptors_max},
                 {"locked_max", message.locked_max},
                 {"zmq", message.zmq},
                 {"zmq_curve", message.zmq_curve},
                 {"sodium", message.sodium},
                 {"aes", message.aes}});
}

template <>
HostFacts parse_body(std::string_view body) {
  const json value = parsed(body);
  return {.system = text_in(value, "system"),
          .cores = number_in(value, "cores", 1 << 20),
          .memory = number_in(value, "memory"),
          .memory_free = number_in(value, "memory_free"),
          .shared = number_in(value, "shared"),
          .shared_free = number_in(value, "shared_free"),
          .descriptors_max = number_in(value, "descriptors_max"),
          .locked_max = number_in(value, "locked_max"),
          .zmq = text_in(value, "zmq"),
          .zmq_curve = flag_in(value, "zmq_curve"),
          .sodium = text_in(value, "sodium"),
          .aes = flag_in(value, "aes")};
}

std::string json_of(const ListenOrder& message) {
  return dumped({{"address", message.address},
                 {"first", message.first},
                 {"toward", message.toward},
                 {"network", message.network},
                 {"port", message.port},
                 {"ports", message.ports},
                 {"stream_ports", message.stream_ports},
                 {"token", message.token}});
}

template <>
ListenOrder parse_body(std::string_view body) {
  const json value = parsed(body);
  ListenOrder order{.address = text_in(value, "address"),
                    .first = text_in(value, "first"),
                    .toward = {},
                    .network = text_in(value, "network"),
                    .port = port_in(value, "port"),
                    .ports = text_in(value, "ports"),
                    .stream_ports = text_in(value, "stream_ports"),
                    .token = token_in(value)};
  for (const json& name : list_in(value, "toward", kNamesMax)) order.toward.push_back(text_of(name, "toward"));
  return order;
}

std::string json_of(const Listening& message) {
  return dumped({{"problem", message.problem},
                 {"address", message.address},
                 {"port", message.port},
                 {"udp", message.udp},
                 {"stream_port", message.stream_port},
                 {"ports", json_from(message.ports)},
                 {"stream_ports", json_from(message.stream_ports)}});
}

template <>
Listening parse_body(std::string_view body) {
  const json value = parsed(body);
  Listening listening{.problem = text_in(value, "problem"),
                      .address = text_in(value, "address"),
                      .port = port_in(value, "port"),
                      .udp = flag_in(value, "udp"),
                      .stream_port = port_in(value, "stream_port"),
                      .ports = count_in(value, "ports"),
                      .stream_ports = count_in(value, "stream_ports")};
  // Other hosts are told of it.
  const bool is_place = listening.port != 0 && host_address(fmt::format("[{}]:{}", listening.address, listening.port));
  if (listening.problem.empty() && !is_place) refuse("it listens at no numeric address and port");
  return listening;
}

std::string json_of(const ReachOrder& message) {
  json places = json::array();
  for (const ReachPlace& place : message.places) {
    places.push_back({{"address", place.address},
                      {"port", place.port},
                      {"udp", place.udp},
                      {"stream_port", place.stream_port},
                      {"token", place.token}});
  }
  return dumped({{"places", std::move(places)}, {"patience_ms", message.patience_ms}});
}

template <>
ReachOrder parse_body(std::string_view body) {
  const json value = parsed(body);
  ReachOrder order;
  for (const json& place : list_in(value, "places", ReachOrder::kPlacesMax)) {
    order.places.push_back({.address = text_in(place, "address"),
                            .port = port_in(place, "port"),
                            .udp = flag_in(place, "udp"),
                            .stream_port = port_in(place, "stream_port"),
                            .token = token_in(place)});
  }
  order.patience_ms = number_in(value, "patience_ms", 3'600'000);
  return order;
}

std::string json_of(const Reached& message) {
  json ways = json::array();
  for (const HostWay& way : message.ways) {
    ways.push_back({{"from", way.from},
                    {"tcp", json_from(way.tcp)},
                    {"udp", json_from(way.udp)},
                    {"stream", json_from(way.stream)}});
  }
  json whole = json::object();
  whole["ways"] = std::move(ways);
  return dumped(whole);
}

template <>
Reached parse_body(std::string_view body) {
  const json value = parsed(body);
  Reached reached;
  for (const json& way : list_in(value, "ways", ReachOrder::kPlacesMax)) {
    reached.ways.push_back({.from = text_in(way, "from"),
                            .tcp = end_in(way, "tcp"),
                            .udp = end_in(way, "udp"),
                            .stream = end_in(way, "stream")});
  }
  return reached;
}

}  // namespace troupe::detail
