#include "node/audit/audit_chain.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "node/keys/word_lines.h"
#include "node/node_name.h"

namespace troupe {
namespace {

using Json = nlohmann::ordered_json;

std::string utc(AuditMerge::WallTime time) {
  using namespace std::chrono;
  const auto millisecond = floor<milliseconds>(time);
  const auto second = floor<seconds>(millisecond);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(system_clock::to_time_t(second)),
                     (millisecond - second).count());
}

/// What the chain needs of a line.
struct Links {
  std::uint64_t number = 0;
  std::string prev;
  bool opens = false;
  std::string node;
  std::optional<ToldHead> told;
};

std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::uint64_t> number_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

std::optional<Links> links_of(std::string_view line) {
  // Lines have no values inside values: those of somebody else may, one for each byte.
  const auto is_flat = [](int depth, Json::parse_event_t, const Json&) { return depth <= 1; };
  const Json json = Json::parse(line, is_flat, false);
  if (!json.is_object()) return std::nullopt;
  const auto number = number_of(json, "number");
  const auto prev = json.find("prev");
  if (!number || prev == json.end() || !prev->is_string()) return std::nullopt;
  const std::string event = text_of(json, "event");
  Links links{*number, prev->get<std::string>(), event == name_of(AuditEvent::opened), text_of(json, "node"), {}};
  if (!is_valid_node_name(links.node)) return std::nullopt;
  const auto told = event == name_of(AuditEvent::head) ? number_of(json, "line") : std::nullopt;
  const std::string of = text_of(json, "peer");
  if (told && *told > 0 && is_valid_node_name(of)) links.told = {of, *told, text_of(json, "hash")};
  return links;
}

}  // namespace

std::string_view name_of(AuditEvent event) {
  switch (event) {
    case AuditEvent::opened: return "opened";
    case AuditEvent::closed: return "closed";
    case AuditEvent::joined: return "joined";
    case AuditEvent::left: return "left";
    case AuditEvent::refused: return "refused";
    case AuditEvent::denied: return "denied";
    case AuditEvent::limit: return "limit";
    case AuditEvent::head: return "head";
    case AuditEvent::keys_changed: return "keys_changed";
    case AuditEvent::lost: return "lost";
  }
  return "";
}

AuditHash audit_hash(std::string_view line) {
  AuditHash hash{};
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                     reinterpret_cast<const unsigned char*>(line.data()), line.size(), nullptr, 0);
  return hash;
}

void AuditChain::go_on_after(std::string_view text) {
  std::uint64_t after = 0;  // lines since the last that has a number
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size());
    if (!text.empty()) text.remove_prefix(1);
    const auto links = links_of(line);
    after = links ? 0 : after + 1;
    if (links) count_ = links->number;
    head_ = audit_hash(line);
  }
  count_ += after;
}

std::string AuditChain::line_of(const AuditMerge::Counted& counted) const {
  const AuditEntry& entry = counted.entry;
  Json json{{"time", utc(counted.time)}, {"node", node_}, {"event", name_of(entry.event)}};
  if (!entry.reason.empty()) json["reason"] = entry.reason;
  if (!entry.peer.empty()) json["peer"] = entry.peer;
  if (!entry.address.empty()) json["address"] = entry.address;
  if (entry.event == AuditEvent::head && entry.line > 0) {
    json["line"] = entry.line;
    json["hash"] = entry.hash;
  }
  json["count"] = counted.count;
  json["number"] = count_ + 1;
  json["prev"] = detail::hex_of(head_);
  constexpr bool kEscapeAllButAscii = true;
  return json.dump(-1, ' ', kEscapeAllButAscii, Json::error_handler_t::replace) + "\n";
}

void AuditChain::written(std::string_view line) {
  ++count_;
  head_ = audit_hash(line.substr(0, line.find('\n')));
}

std::string AuditCheck::take(std::string_view line, bool whole) {
  auto links = whole ? links_of(line) : std::nullopt;
  if (links) {
    if (count_ == 0) {
      first_ = links->number;
      before_first_ = links->prev;
      if (first_ == 1 && links->prev != detail::hex_of(AuditHash{})) return "it is the first line and follows another";
    } else {
      if (links->prev != detail::hex_of(head_)) return "it does not follow the line before it";
      if (links->number != number_ + 1) return fmt::format("it is number {} after {}", links->number, number_);
    }
    if (last_is_cut_off_ && !links->opens) return "the line before it is not one of an audit log";
  } else if (last_is_cut_off_) {
    return "it is not one of an audit log";
  }
  last_is_cut_off_ = !links;
  if (!links) ++cut_off_;
  number_ = links ? links->number : number_ + 1;
  ++count_;
  head_ = audit_hash(line);
  told_ = links ? std::move(links->told) : std::nullopt;
  if (links && node_.empty()) node_ = std::move(links->node);
  return {};
}

std::string AuditCheck::end() const {
  if (last_is_cut_off_) return "it is cut off, or not one of an audit log";
  return {};
}

}  // namespace troupe
