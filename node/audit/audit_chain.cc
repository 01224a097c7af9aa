#include "node/audit/audit_chain.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "node/keys/word_lines.h"

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
};

std::optional<Links> links_of(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto number = json.find("number");
  const auto prev = json.find("prev");
  if (number == json.end() || prev == json.end() || !number->is_number_unsigned() || !prev->is_string()) return {};
  const auto event = json.find("event");
  return Links{number->get<std::uint64_t>(), prev->get<std::string>(),
               event != json.end() && *event == name_of(AuditEvent::opened)};
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
    case AuditEvent::keys_changed: return "keys_changed";
    case AuditEvent::lost: return "lost";
  }
  return "";
}

std::string audit_hash(std::string_view line) {
  std::array<std::byte, 32> hash{};
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                     reinterpret_cast<const unsigned char*>(line.data()), line.size(), nullptr, 0);
  return detail::hex_of(hash);
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
  json["count"] = counted.count;
  json["number"] = count_ + 1;
  json["prev"] = head_;
  constexpr bool kEscapeAllButAscii = true;
  return json.dump(-1, ' ', kEscapeAllButAscii, Json::error_handler_t::replace) + "\n";
}

void AuditChain::written(std::string_view line) {
  ++count_;
  head_ = audit_hash(line.substr(0, line.find('\n')));
}

std::string AuditCheck::take(std::string_view line, bool whole) {
  const auto links = whole ? links_of(line) : std::nullopt;
  if (links) {
    if (count_ == 0) {
      first_ = links->number;
      if (first_ == 1 && links->prev != std::string(64, '0')) return "it is the first line and follows another";
    } else {
      if (links->prev != head_) return "it does not follow the line before it";
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
  return {};
}

std::string AuditCheck::end() const {
  if (last_is_cut_off_) return "it is cut off, or not one of an audit log";
  return {};
}

}  // namespace troupe
