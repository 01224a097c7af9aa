#include "actors/calls/call_grants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace troupe {

namespace {

constexpr std::string_view kEverybody = "*";

bool is_pattern(std::string_view function) { return function.ends_with(CallGrants::kAny); }

/// Cuts `text` at each `separator`. Empty parts are parts.
std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

void CallGrants::allow(const NodeName& peer, const std::vector<std::string>& functions) {
  by_peer_[peer].insert(functions.begin(), functions.end());
}

bool CallGrants::has(std::string_view entry, std::string_view function) const {
  const auto found = by_peer_.find(entry);
  return found != by_peer_.end() && std::ranges::any_of(found->second, [function](std::string_view granted) {
           return granted == function ||
                  (is_pattern(granted) && function.starts_with(granted.substr(0, granted.size() - 1)));
         });
}

bool CallGrants::may_call(std::string_view peer, std::string_view function) const {
  return empty() || has(peer, function) || has(kEverybody, function);
}

std::vector<std::string> CallGrants::functions() const {
  std::set<std::string> all;
  for (const auto& [peer, functions] : by_peer_) all.insert(functions.begin(), functions.end());
  std::erase_if(all, is_pattern);
  return {all.begin(), all.end()};
}

std::string CallGrants::text() const {
  std::map<Functions, std::vector<NodeName>> peers_of;  // a thousand trainers have one line of functions
  for (const auto& [peer, functions] : by_peer_) peers_of[functions].push_back(peer);
  std::string text;
  for (const auto& [functions, peers] : peers_of) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", fmt::join(peers, ","), fmt::join(functions, ","));
  }
  return text;
}

CallGrants CallGrants::parse(std::string_view text) {
  CallGrants grants;
  if (text.empty()) return grants;
  for (const std::string& entry : parts_of(text, ';')) {
    const std::vector<std::string> sides = parts_of(entry, '=');
    if (sides.size() != 2) {
      throw std::invalid_argument(fmt::format("expected PEER,...=FUNCTION,..., found \"{}\"", entry));
    }
    const std::vector<std::string> functions = sides[1].empty() ? std::vector<std::string>{} : parts_of(sides[1], ',');
    for (const std::string& peer : parts_of(sides[0], ',')) {
      if (peer.empty() || std::ranges::find(functions, "") != functions.end()) {
        throw std::invalid_argument(fmt::format("expected PEER,...=FUNCTION,..., found \"{}\"", entry));
      }
      grants.allow(peer, functions);
    }
  }
  return grants;
}

}  // namespace troupe
